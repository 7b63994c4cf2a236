// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_columns.hpp"

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/expected_error_text.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/provenance_report.hpp"
#include "stepcast/report/text_report.hpp"
#include "stepcast/report/training_run_report.hpp"

namespace stepcast {
namespace {

using P = Projection;

// A number that there is of a plan that was priced.
Value timed(const P& p, double value) { return p.priced ? Value(value) : no_value(); }

Value listed(const std::vector<std::string>& texts) { return texts; }

// One end of the interval of the rate.
template <Certainty kCertainty, double RateInterval::*kEnd>
Value rate_end(const P& p) {
  if (!p.priced || !p.expected_error || !p.expected_error->distribution) {
    return no_value();
  }
  return p.expected_error->distribution->interval(kCertainty).*kEnd;
}

double most_in_flight(const P& p) {
  double most = 0.0;
  for (const StageMemory& stage : p.memory) {
    most = std::max(most, stage.in_flight);
  }
  return most;
}

// Of the run.
template <double (TrainingRun::*kNumber)() const>
Value of_run(const P& p) {
  return p.run ? Value(((*p.run).*kNumber)()) : no_value();
}

template <double RateInterval::*kEnd>
Value days_end(const P& p) {
  const std::optional<RateInterval> at80 = days_at_80(p);
  return at80 ? Value((*at80).*kEnd) : no_value();
}

Value days_interval(const P& p) {
  const std::optional<RateInterval> at80 = days_at_80(p);
  return at80 ? Value(days_text(at80->low) + " to " + days_text(at80->high)) : no_value();
}

Value run_price(const P& p) {
  return p.run && p.gpu_hour ? Value(p.run->gpu_hours() * p.gpu_hour->price) : no_value();
}

Value priced_run(const P& p) {
  return p.run && p.gpu_hour ? Value(whole_number(p.run->gpu_hours() * p.gpu_hour->price) + " " +
                                     p.gpu_hour->currency)
                             : no_value();
}

std::string as_days(const Value& value) { return days_text(value.get<double>()); }
std::string as_energy(const Value& value) { return energy_text(value.get<double>()); }
std::string as_joules(const Value& value) { return significant(value.get<double>(), 4); }
std::string as_megahertz(const Value& value) { return decimals(value.get<double>(), 1) + " MHz"; }
std::string as_watts(const Value& value) { return decimals(value.get<double>(), 1) + " W"; }

constexpr std::array kProjectionColumns = {
    // What was asked.
    Column<P>{"model", "model", [](const P& p) -> Value { return p.model; }},
    Column<P>{"gpu", "GPU", [](const P& p) -> Value { return p.gpu; }},
    Column<P>{"gpus", "GPUs", [](const P& p) -> Value { return p.gpus; }, as_count},
    Column<P>{"nodes", "nodes", [](const P& p) -> Value { return p.nodes; }, as_count},
    Column<P>{"software", "software", [](const P& p) -> Value { return p.software; }},
    Column<P>{"network", "network", [](const P& p) -> Value { return network_text(p); }},
    Column<P>{"plan", "plan", [](const P& p) -> Value { return plan_line(p.plan); }},
    Column<P>{"schedule", "schedule", [](const P& p) -> Value { return name(p.plan.schedule); },
              as_text, Align::kLeft},
    Column<P>{"vpp", "vpp", [](const P& p) -> Value { return p.plan.vpp; }},
    // Whether it can run.
    Column<P>{"feasible", "fits", [](const P& p) -> Value { return p.feasible; }, as_yes_or_no,
              Align::kLeft},
    Column<P>{"reasons", "reasons", [](const P& p) { return listed(p.reasons); }},
    Column<P>{"reason", "reason",
              [](const P& p) { return p.reasons.empty() ? no_value() : Value(p.reasons.front()); }},
    // The step.
    Column<P>{"tokens_per_second_per_gpu", "tokens/s/GPU",
              [](const P& p) { return timed(p, p.tokens_per_second_per_gpu); }, as_number<1>},
    Column<P>{"step_time_s", "step time", [](const P& p) { return timed(p, p.time.step.value()); },
              as_time},
    Column<P>{"model_tflops_per_gpu", "model TFLOP/s/GPU",
              [](const P& p) { return timed(p, p.model_rate_per_gpu.value() / 1e12); },
              as_number<1>},
    Column<P>{"mfu", "MFU", [](const P& p) { return timed(p, p.mfu); }, as_percent<1>},
    Column<P>{"mfu_masked", "MFU, mask cut", [](const P& p) { return timed(p, p.masked_mfu); },
              as_percent<1>},
    Column<P>{"clock_mhz", "clock", [](const P& p) { return timed(p, p.clock.value() / 1e6); },
              as_megahertz},
    Column<P>{"power_w", "mean power", [](const P& p) { return timed(p, p.power.value()); },
              as_watts},
    Column<P>{"bubble_share", "bubble",
              [](const P& p) { return timed(p, p.time.breakdown.bubble / p.time.step); },
              as_percent<2>},
    Column<P>{"in_flight", "in flight", [](const P& p) { return timed(p, most_in_flight(p)); },
              as_number<1>},
    Column<P>{"peak_memory_bytes", "peak memory",
              [](const P& p) { return timed(p, p.peak_memory().value()); }, as_size},
    Column<P>{"parameters", "parameters", [](const P& p) { return timed(p, p.parameters); },
              as_whole},
    Column<P>{"active_parameters", "active parameters",
              [](const P& p) { return timed(p, p.active_parameters); }, as_whole},
    Column<P>{"flops_per_token", "FLOPs a token",
              [](const P& p) { return timed(p, p.flops_per_token.value()); }},
    // How far it may be off, and what it rests on.
    Column<P>{"expected_error", "expected error",
              [](const P& p) {
                return p.priced && p.expected_error ? to_json(*p.expected_error) : no_value();
              }},
    Column<P>{"interval", "80 % interval",
              [](const P& p) {
                return p.priced ? Value(interval_text(p.expected_error, p.tokens_per_second_per_gpu,
                                                      Certainty::k80))
                                : no_value();
              }},
    Column<P>{"interval_80_low", "", rate_end<Certainty::k80, &RateInterval::low>},
    Column<P>{"interval_80_high", "", rate_end<Certainty::k80, &RateInterval::high>},
    Column<P>{"interval_90_low", "", rate_end<Certainty::k90, &RateInterval::low>},
    Column<P>{"interval_90_high", "", rate_end<Certainty::k90, &RateInterval::high>},
    Column<P>{"provenance", "time rests on",
              [](const P& p) {
                return p.provenance ? provenance_to_json(*p.provenance) : no_value();
              }},
    // The run of such steps, with titles of a comparison.
    Column<P>{"training_run", "",
              [](const P& p) { return p.run ? training_run_json(p) : no_value(); }},
    Column<P>{"tokens", "tokens",
              [](const P& p) { return p.run ? Value(p.run->spec.tokens) : no_value(); }, as_count},
    Column<P>{"steps", "steps", [](const P& p) { return p.run ? Value(p.run->steps) : no_value(); },
              as_count},
    Column<P>{"days", "days of the run", of_run<&TrainingRun::days>, as_days},
    Column<P>{"days_80", "  80 % interval", days_interval},
    Column<P>{"days_80_low", "", days_end<&RateInterval::low>, as_days},
    Column<P>{"days_80_high", "", days_end<&RateInterval::high>, as_days},
    Column<P>{"gpu_hours", "GPU-hours", of_run<&TrainingRun::gpu_hours>, as_whole},
    Column<P>{"price", "price", run_price, as_whole},
    Column<P>{"price_in_currency", "price of the run", priced_run},
    Column<P>{"currency", "currency",
              [](const P& p) { return p.gpu_hour ? Value(p.gpu_hour->currency) : no_value(); }},
    Column<P>{"price_per_gpu_hour", "price of a GPU-hour",
              [](const P& p) { return p.gpu_hour ? Value(p.gpu_hour->price) : no_value(); }},
    Column<P>{"interval_80", "",
              [](const P& p) { return p.run ? run_intervals_json(p) : no_value(); }},
    Column<P>{"energy_kwh", "energy", of_run<&TrainingRun::kilowatt_hours>, as_energy},
    Column<P>{"gpu_energy_kwh", "energy of the GPUs", of_run<&TrainingRun::gpu_kilowatt_hours>,
              as_energy},
    Column<P>{"joules_per_token", "joules a token",
              [](const P& p) {
                return p.run ? Value(p.run->energy_per_token().value()) : no_value();
              },
              as_joules},
    Column<P>{"goodput", "goodput",
              [](const P& p) { return p.run ? Value(p.run->goodput.share) : no_value(); },
              as_percent<1>},
    Column<P>{"mtbf_s", "",
              [](const P& p) {
                return p.run && p.run->goodput.mtbf ? Value(p.run->goodput.mtbf->value())
                                                    : no_value();
              }},
    Column<P>{"checkpoint_interval_s", "",
              [](const P& p) {
                return p.run && p.run->goodput.interval ? Value(p.run->goodput.interval->value())
                                                        : no_value();
              }},
    Column<P>{"assumptions", "assumed",
              [](const P& p) { return p.run ? listed(run_assumptions(*p.run)) : no_value(); }},
};

}  // namespace

const Columns<Projection>& projection_columns() {
  static constexpr Columns<Projection> kAll{kProjectionColumns};
  return kAll;
}

}  // namespace stepcast
