// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/training_run_report.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// What is proportional to the time of the run, and so as uncertain as the rate of the step.
struct Proportional {
  std::string_view key;
  std::optional<double> (*of)(const Projection&);
};

std::optional<double> run_price(const Projection& p) {
  return p.gpu_hour ? std::optional(p.run->gpu_hours() * p.gpu_hour->price) : std::nullopt;
}

constexpr std::array kProportional = {
    Proportional{"days", [](const Projection& p) { return std::optional(p.run->days()); }},
    Proportional{"gpu_hours",
                 [](const Projection& p) { return std::optional(p.run->gpu_hours()); }},
    Proportional{"price", run_price},
};

// The ends of the interval of a value that falls as the rate rises.
std::optional<RateInterval> ends_at_80(const Projection& p, double value) {
  if (!p.expected_error || !p.expected_error->distribution) {
    return std::nullopt;
  }
  const RateInterval of_rate = p.expected_error->distribution->interval(Certainty::k80);
  return RateInterval{value / of_rate.high, value / of_rate.low};
}

std::string days_number(double value) { return decimals(value, value < 10.0 ? 2 : 1); }

// "339.1 (312.3 to 371.0 at 80 %)", "10,416,667 $ (...)".
std::string uncertain_text(const Projection& p, double value, std::string (*number)(double),
                           const std::string& unit) {
  const std::optional<RateInterval> at80 = ends_at_80(p, value);
  return number(value) + unit +
         (at80 ? " (" + number(at80->low) + " to " + number(at80->high) + " at 80 %)" : "");
}

std::string energy_text(const TrainingRun& run) {
  const double kwh = run.kilowatt_hours();
  return kwh >= 1e5 ? significant(kwh / 1e3, 4) + " MWh" : significant(kwh, 4) + " kWh";
}

std::string duration_text(Seconds value) {
  const double seconds = value.value();
  if (seconds >= 3600.0) {
    return significant(seconds / 3600.0, 3) + " h";
  }
  return seconds >= 60.0 ? significant(seconds / 60.0, 3) + " min" : readable(value);
}

std::string checkpoint_text(const TrainingRun& run) {
  const std::optional<CheckpointSpec>& checkpoint = run.spec.interruptions.checkpoint;
  if (!checkpoint) {
    return "";
  }
  return "; " + duration_text(checkpoint->write) + " for a checkpoint after each " +
         duration_text(*run.goodput.interval) +
         (checkpoint->interval ? "" : " (the best, by Young)");
}

// What the share of training is lost to.
std::string goodput_text(const TrainingRun& run) {
  const Interruptions& given = run.spec.interruptions;
  const std::string share = decimals(100.0 * run.goodput.share, 1) + " %: ";
  if (!given.any()) {
    return share + "without interruptions";
  }
  std::string text = share;
  text += run.goodput.mtbf ? "a failure each " + duration_text(*run.goodput.mtbf) + ", restart " +
                                 duration_text(given.restart)
                           : "without failures";
  text += checkpoint_text(run);
  return text + (given.stragglers > 0.0
                     ? "; " + significant(100.0 * given.stragglers, 3) + " % lost to stragglers"
                     : "");
}

std::string from_source(std::string_view source, bool usual) {
  return usual ? " (" + std::string(source) + ")" : " (given)";
}

std::vector<std::string> run_assumptions(const TrainingRun& run) {
  const SitePower& site = run.spec.site;
  const SitePower usual;
  std::vector<std::string> list = {
      "every step takes what this one takes: no warm-up of the batch, no longer sequences, no "
      "evaluation",
      "GPUs draw " + decimals(run.gpu_power.value(), 1) +
          " W all of the time, interruptions included",
      "host " + format_quantity(site.host) + " a GPU" +
          from_source(kHostPowerSource, site.host == usual.host)};
  if (run.network_power > Watts{}) {
    list.push_back("network " + format_quantity(run.network_power) + " a GPU" +
                   from_source(kNetworkPowerSource, site.network == usual.network));
  }
  list.push_back("PUE " + shortest_text(site.pue) + from_source(kPueSource, site.pue == usual.pue));
  if (run.goodput.mtbf) {
    list.emplace_back(
        "failures are independent and noticed at once, and spares take the place of "
        "what failed");
  }
  return list;
}

Json interval_80(const Projection& p) {
  Json json = Json::object();
  for (const Proportional& row : kProportional) {
    if (const std::optional<double> value = row.of(p)) {
      if (const std::optional<RateInterval> at80 = ends_at_80(p, *value)) {
        json[std::string(row.key)] = Json::array({at80->low, at80->high});
      }
    }
  }
  return json;
}

}  // namespace

bool asks_for_run(const Projection& p) {
  const ConfigNode* training = p.input.find("training");
  return training != nullptr && training->find("tokens") != nullptr;
}

std::optional<RateInterval> days_at_80(const Projection& p) {
  return p.run ? ends_at_80(p, p.run->days()) : std::nullopt;
}

std::string training_run_text(const Projection& p) {
  if (!p.run) {
    return "";
  }
  const TrainingRun& run = *p.run;
  std::string text = "\nTraining run of " + with_separators(run.spec.tokens) + " tokens (" +
                     with_separators(run.steps) + (run.steps == 1 ? " step)\n" : " steps)\n");
  text += line("days", uncertain_text(p, run.days(), days_number, ""));
  text += line("GPU-hours", uncertain_text(p, run.gpu_hours(), whole_number, ""));
  if (const std::optional<double> price = run_price(p)) {
    text += line("price", uncertain_text(p, *price, whole_number, " " + p.gpu_hour->currency));
  }
  text += line("energy", energy_text(run) + ", " + significant(run.energy_per_token().value(), 4) +
                             " J a token");
  text += line("goodput", goodput_text(run));
  for (const std::string& assumption : run_assumptions(run)) {
    text += line("assumed", assumption);
  }
  return text;
}

Json training_run_json(const Projection& p) {
  const TrainingRun& run = *p.run;
  Json json = {{"tokens", run.spec.tokens}, {"steps", run.steps}};
  for (const Proportional& row : kProportional) {
    if (const std::optional<double> value = row.of(p)) {
      json[std::string(row.key)] = *value;
    }
  }
  if (p.gpu_hour) {
    json["currency"] = p.gpu_hour->currency;
    json["price_per_gpu_hour"] = p.gpu_hour->price;
  }
  json["interval_80"] = interval_80(p);
  json["energy_kwh"] = run.kilowatt_hours();
  json["gpu_energy_kwh"] = run.gpu_kilowatt_hours();
  json["joules_per_token"] = run.energy_per_token().value();
  json["goodput"] = run.goodput.share;
  if (run.goodput.mtbf) {
    json["mtbf_s"] = run.goodput.mtbf->value();
  }
  if (run.goodput.interval) {
    json["checkpoint_interval_s"] = run.goodput.interval->value();
  }
  json["assumptions"] = run_assumptions(run);
  return json;
}

std::string training_run_columns() {
  return ",tokens,steps,days,gpu_hours,price,currency,days_80_low,days_80_high,energy_kwh,"
         "joules_per_token,goodput";
}

std::string training_run_cells(const Projection& p) {
  if (!p.run) {
    const std::string columns = training_run_columns();
    std::string empty(static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')),
                      ',');
    return empty;
  }
  const TrainingRun& run = *p.run;
  const auto cell = [](std::optional<double> value) {
    return "," + (value ? shortest_text(*value) : std::string());
  };
  const std::optional<RateInterval> at80 = days_at_80(p);
  return "," + std::to_string(run.spec.tokens) + "," + std::to_string(run.steps) +
         cell(run.days()) + cell(run.gpu_hours()) + cell(run_price(p)) + "," +
         (p.gpu_hour ? csv_cell(p.gpu_hour->currency) : "") +
         cell(at80 ? std::optional(at80->low) : std::nullopt) +
         cell(at80 ? std::optional(at80->high) : std::nullopt) + cell(run.kilowatt_hours()) +
         cell(run.energy_per_token().value()) + cell(run.goodput.share);
}

std::span<const RunRow> training_run_rows() {
  static constexpr std::array kRows = {
      RunRow{"days of the run", [](const Projection& p) { return days_number(p.run->days()); }},
      RunRow{"  80 % interval",
             [](const Projection& p) {
               const std::optional<RateInterval> at80 = days_at_80(p);
               return at80 ? days_number(at80->low) + " to " + days_number(at80->high)
                           : std::string();
             }},
      RunRow{"GPU-hours", [](const Projection& p) { return whole_number(p.run->gpu_hours()); }},
      RunRow{"price of the run",
             [](const Projection& p) {
               const std::optional<double> price = run_price(p);
               return price ? whole_number(*price) + " " + p.gpu_hour->currency : std::string();
             }},
      RunRow{"energy", [](const Projection& p) { return energy_text(*p.run); }},
      RunRow{"joules a token",
             [](const Projection& p) { return significant(p.run->energy_per_token().value(), 4); }},
      RunRow{"goodput",
             [](const Projection& p) { return decimals(100.0 * p.run->goodput.share, 1) + " %"; }},
  };
  return kRows;
}

}  // namespace stepcast
