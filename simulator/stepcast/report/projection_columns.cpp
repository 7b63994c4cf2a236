// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_columns.hpp"

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_text.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/step_reports.hpp"

namespace stepcast {
namespace {

using P = Projection;
using Run = TrainingRun;

// Numbers that there are of a plan that was priced.
template <auto... kPath>
Value timed(const P& p) {
  return p.priced ? member<kPath...>(p) : no_value();
}
template <std::int64_t kUnit, auto... kPath>
Value timed_in(const P& p) {
  return p.priced ? member_in<kUnit, kPath...>(p) : no_value();
}

// One end of the interval of the rate.
template <Certainty kCertainty, double RateInterval::*kEnd>
Value rate_end(const P& p) {
  if (!p.priced || !p.expected_error || !p.expected_error->distribution) {
    return no_value();
  }
  return p.expected_error->distribution->interval(kCertainty).*kEnd;
}

double bubble_share(const P& p) { return p.time.breakdown.bubble / p.time.step; }

double most_in_flight(const P& p) {
  double most = 0.0;
  for (const StageMemory& stage : p.memory) {
    most = std::max(most, stage.in_flight);
  }
  return most;
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
  const Value price = run_price(p);
  return has_value(price) ? Value(as_whole(price) + " " + p.gpu_hour->currency) : no_value();
}

std::string as_days(const Value& value) { return days_text(value.get<double>()); }
std::string as_energy(const Value& value) { return energy_text(value.get<double>()); }
std::string as_joules(const Value& value) { return significant(value.get<double>(), 4); }
std::string as_watts(const Value& value) { return as_number<1>(value) + " W"; }

constexpr std::int64_t kMega = 1'000'000;
constexpr std::int64_t kTera = 1'000'000'000'000;

constexpr auto kProjectionColumns = std::to_array<Column<P>>({
    // What was asked.
    {"model", "model", member<&P::model>},
    {"gpu", "GPU", member<&P::gpu>},
    {"gpus", "GPUs", member<&P::gpus>, as_count},
    {"nodes", "nodes", member<&P::nodes>, as_count},
    {"software", "software", member<&P::software>},
    {"network", "network", [](const P& p) -> Value { return network_text(p); }},
    {"plan", "plan", [](const P& p) -> Value { return plan_line(p.plan); }},
    {"schedule", "schedule", member<&P::plan, &ParallelPlan::schedule>, as_text, Align::kLeft},
    {"vpp", "vpp", member<&P::plan, &ParallelPlan::vpp>},
    // Whether it can run.
    {"feasible", "fits", member<&P::feasible>, as_yes_or_no, Align::kLeft},
    {"reasons", "reasons", member<&P::reasons>},
    {"reason", "reason",
     [](const P& p) { return p.reasons.empty() ? no_value() : Value(p.reasons.front()); }},
    // The step.
    {"tokens_per_second_per_gpu", "tokens/s/GPU", timed<&P::tokens_per_second_per_gpu>,
     as_number<1>},
    {"step_time_s", "step time", timed<&P::time, &StepTime::step>, as_time},
    {"model_tflops_per_gpu", "model TFLOP/s/GPU", timed_in<kTera, &P::model_rate_per_gpu>,
     as_number<1>},
    {"mfu", "MFU", timed<&P::mfu>, as_percent<1>},
    {"mfu_masked", "MFU, mask cut", timed<&P::masked_mfu>, as_percent<1>},
    {"clock_mhz", "clock", timed_in<kMega, &P::clock>, as_megahertz},
    {"power_w", "mean power", timed<&P::power>, as_watts},
    {"bubble_share", "bubble", timed<bubble_share>, as_percent<2>},
    {"in_flight", "in flight", timed<most_in_flight>, as_number<1>},
    {"peak_memory_bytes", "peak memory", timed<&P::peak_memory>, as_size},
    {"parameters", "parameters", timed<&P::parameters>, as_whole},
    {"active_parameters", "active parameters", timed<&P::active_parameters>, as_whole},
    {"flops_per_token", "FLOPs a token", timed<&P::flops_per_token>},
    // How far it may be off, and what it rests on.
    {"expected_error", "expected error",
     [](const P& p) {
       return p.priced && p.expected_error ? to_json(*p.expected_error) : no_value();
     }},
    {"interval", "80 % interval",
     [](const P& p) {
       return p.priced ? Value(interval_text(p.expected_error, p.tokens_per_second_per_gpu,
                                             Certainty::k80))
                       : no_value();
     }},
    {"interval_80_low", "", rate_end<Certainty::k80, &RateInterval::low>},
    {"interval_80_high", "", rate_end<Certainty::k80, &RateInterval::high>},
    {"interval_90_low", "", rate_end<Certainty::k90, &RateInterval::low>},
    {"interval_90_high", "", rate_end<Certainty::k90, &RateInterval::high>},
    {"provenance", "time rests on",
     [](const P& p) { return p.provenance ? provenance_to_json(*p.provenance) : no_value(); }},
    // The run of such steps, with titles of a comparison.
    {"training_run", "", [](const P& p) { return p.run ? training_run_json(p) : no_value(); }},
    {"tokens", "tokens", member<&P::run, &Run::spec, &RunSpec::tokens>, as_count},
    {"steps", "steps", member<&P::run, &Run::steps>, as_count},
    {"days", "days of the run", member<&P::run, &Run::days>, as_days},
    {"days_80", "  80 % interval", days_interval},
    {"days_80_low", "", days_end<&RateInterval::low>, as_days},
    {"days_80_high", "", days_end<&RateInterval::high>, as_days},
    {"gpu_hours", "GPU-hours", member<&P::run, &Run::gpu_hours>, as_whole},
    {"price", "price", run_price, as_whole},
    {"price_in_currency", "price of the run", priced_run},
    {"currency", "currency", member<&P::gpu_hour, &GpuHourPrice::currency>},
    {"price_per_gpu_hour", "price of a GPU-hour", member<&P::gpu_hour, &GpuHourPrice::price>},
    {"interval_80", "", [](const P& p) { return p.run ? run_intervals_json(p) : no_value(); }},
    {"energy_kwh", "energy", member<&P::run, &Run::kilowatt_hours>, as_energy},
    {"gpu_energy_kwh", "energy of the GPUs", member<&P::run, &Run::gpu_kilowatt_hours>, as_energy},
    {"joules_per_token", "joules a token", member<&P::run, &Run::energy_per_token>, as_joules},
    {"goodput", "goodput", member<&P::run, &Run::goodput, &Goodput::share>, as_percent<1>},
    {"mtbf_s", "", member<&P::run, &Run::goodput, &Goodput::mtbf>},
    {"checkpoint_interval_s", "", member<&P::run, &Run::goodput, &Goodput::interval>},
    {"assumptions", "assumed",
     [](const P& p) { return p.run ? value_of(run_assumptions(*p.run)) : no_value(); }},
});

constexpr auto kSavedColumns = std::to_array<Column<SavedTensor>>({
    {"name", "tensor", member<&SavedTensor::id>, as_text, Align::kLeft},
    {"bytes", "size", member<&SavedTensor::bytes>, as_size},
});

}  // namespace

const Columns<Projection>& projection_columns() {
  static constexpr Columns<Projection> kAll{kProjectionColumns};
  return kAll;
}

const Columns<SavedTensor>& saved_columns() {
  static constexpr Columns<SavedTensor> kAll{kSavedColumns};
  return kAll;
}

}  // namespace stepcast
