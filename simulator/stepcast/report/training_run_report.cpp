// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_report.hpp"

#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// The ends of the interval of a value that falls as the rate rises.
std::optional<RateInterval> ends_at_80(const Projection& p, double value) {
  if (!p.expected_error || !p.expected_error->distribution) {
    return std::nullopt;
  }
  const RateInterval of_rate = p.expected_error->distribution->interval(Certainty::k80);
  return RateInterval{value / of_rate.high, value / of_rate.low};
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

std::string from_source(std::string_view source, bool usual) {
  return usual ? " (" + std::string(source) + ")" : " (given)";
}

// "339.1 (312.3 to 371.0 at 80 %)", "10,416,667 $ (...)".
std::string uncertain_text(const Projection& p, std::string_view key, const std::string& unit) {
  const Columns<Projection>& numbers = projection_columns();
  const Value value = numbers.value(key, p);
  const std::optional<RateInterval> at80 = ends_at_80(p, value.get<double>());
  return numbers.read(key, value) + unit +
         (at80 ? " (" + numbers.read(key, at80->low) + " to " + numbers.read(key, at80->high) +
                     " at 80 %)"
               : "");
}

}  // namespace

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

std::string days_text(double days) { return decimals(days, days < 10.0 ? 2 : 1); }

std::string energy_text(double kilowatt_hours) {
  return kilowatt_hours >= 1e5 ? significant(kilowatt_hours / 1e3, 4) + " MWh"
                               : significant(kilowatt_hours, 4) + " kWh";
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

Json run_intervals_json(const Projection& p) {
  Json json = Json::object();
  for (const char* key : {"days", "gpu_hours", "price"}) {
    if (const Value value = projection_columns().value(key, p); has_value(value)) {
      if (const std::optional<RateInterval> at80 = ends_at_80(p, value.get<double>())) {
        json[key] = Json::array({at80->low, at80->high});
      }
    }
  }
  return json;
}

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
  text += line("days", uncertain_text(p, "days", ""));
  text += line("GPU-hours", uncertain_text(p, "gpu_hours", ""));
  if (p.gpu_hour) {
    text += line("price", uncertain_text(p, "price", " " + p.gpu_hour->currency));
  }
  text += line("energy", projection_columns().text("energy_kwh", p) + ", " +
                             projection_columns().text("joules_per_token", p) + " J a token");
  text += line("goodput", goodput_text(run));
  for (const std::string& assumption : run_assumptions(run)) {
    text += line("assumed", assumption);
  }
  return text;
}

Json training_run_json(const Projection& p) {
  return projection_columns().json(
      "tokens steps days gpu_hours price currency price_per_gpu_hour interval_80 energy_kwh "
      "gpu_energy_kwh joules_per_token goodput mtbf_s checkpoint_interval_s assumptions",
      p);
}

std::string training_run_cells(const Projection& p) {
  return p.run ? projection_columns().csv_cells(kRunColumns, p)
               : Columns<Projection>::no_cells(kRunColumns);
}

}  // namespace stepcast
