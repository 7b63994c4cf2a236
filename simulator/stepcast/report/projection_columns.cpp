// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection_columns.hpp"

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

constexpr std::array kProjectionColumns = {
    // What was asked.
    Column<P>{"model", "model", member<&P::model>},
    Column<P>{"gpu", "GPU", member<&P::gpu>},
    Column<P>{"gpus", "GPUs", member<&P::gpus>, as_count},
    Column<P>{"nodes", "nodes", member<&P::nodes>, as_count},
    Column<P>{"global_batch_size", "global batch",
              member<&P::training, &TrainingRecipe::global_batch_size>, as_count},
    Column<P>{"micro_batch_size", "micro-batch",
              member<&P::training, &TrainingRecipe::micro_batch_size>, as_count},
    Column<P>{"recompute", "recompute",
              [](const P& p) -> Value { return recompute_text(p.training.recompute); }, as_text,
              Align::kLeft},
    Column<P>{"software", "software", member<&P::software>},
    Column<P>{"network", "network", [](const P& p) -> Value { return network_text(p); }},
    Column<P>{"plan", "plan", [](const P& p) -> Value { return plan_line(p.plan); }},
    Column<P>{"schedule", "schedule", member<&P::plan, &ParallelPlan::schedule>, as_text,
              Align::kLeft},
    Column<P>{"vpp", "vpp", member<&P::plan, &ParallelPlan::vpp>},
    // Whether it can run.
    Column<P>{"feasible", "fits", member<&P::feasible>, as_yes_or_no, Align::kLeft},
    Column<P>{"reasons", "reasons", member<&P::reasons>},
    Column<P>{"reason", "reason",
              [](const P& p) { return p.reasons.empty() ? no_value() : Value(p.reasons.front()); }},
    // The step.
    Column<P>{"tokens_per_second_per_gpu", "tokens/s/GPU", timed<&P::tokens_per_second_per_gpu>,
              as_number<1>},
    Column<P>{"step_time_s", "step time", timed<&P::time, &StepTime::step>, as_time},
    Column<P>{"model_tflops_per_gpu", "model TFLOP/s/GPU", timed_in<kTera, &P::model_rate_per_gpu>,
              as_number<1>},
    Column<P>{"mfu", "MFU", timed<&P::mfu>, as_percent<1>},
    Column<P>{"mfu_masked", "MFU, mask cut", timed<&P::masked_mfu>, as_percent<1>},
    Column<P>{"clock_mhz", "clock", timed_in<kMega, &P::clock>, as_megahertz},
    Column<P>{"power_w", "mean power", timed<&P::power>, as_watts},
    Column<P>{"bubble_share", "bubble", timed<bubble_share>, as_percent<2>},
    Column<P>{"in_flight", "in flight", timed<most_in_flight>, as_number<1>},
    Column<P>{"peak_memory_bytes", "peak memory", timed<&P::peak_memory>, as_size},
    Column<P>{"parameters", "parameters", timed<&P::parameters>, as_whole},
    Column<P>{"active_parameters", "active parameters", timed<&P::active_parameters>, as_whole},
    Column<P>{"flops_per_token", "FLOPs a token", timed<&P::flops_per_token>},
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
    Column<P>{
        "provenance", "time rests on",
        [](const P& p) { return p.provenance ? provenance_to_json(*p.provenance) : no_value(); }},
    // The run of such steps, with titles of a comparison.
    Column<P>{"training_run", "",
              [](const P& p) { return p.run ? training_run_json(p) : no_value(); }},
    Column<P>{"tokens", "tokens", member<&P::run, &Run::spec, &RunSpec::tokens>, as_count},
    Column<P>{"steps", "steps", member<&P::run, &Run::steps>, as_count},
    Column<P>{"days", "days of the run", member<&P::run, &Run::days>, as_days},
    Column<P>{"days_80", "  80 % interval", days_interval},
    Column<P>{"days_80_low", "", days_end<&RateInterval::low>, as_days},
    Column<P>{"days_80_high", "", days_end<&RateInterval::high>, as_days},
    Column<P>{"gpu_hours", "GPU-hours", member<&P::run, &Run::gpu_hours>, as_whole},
    Column<P>{"price", "price", run_price, as_whole},
    Column<P>{"price_in_currency", "price of the run", priced_run},
    Column<P>{"currency", "currency", member<&P::gpu_hour, &GpuHourPrice::currency>},
    Column<P>{"price_per_gpu_hour", "price of a GPU-hour",
              member<&P::gpu_hour, &GpuHourPrice::price>},
    Column<P>{"interval_80", "",
              [](const P& p) { return p.run ? run_intervals_json(p) : no_value(); }},
    Column<P>{"energy_kwh", "energy", member<&P::run, &Run::kilowatt_hours>, as_energy},
    Column<P>{"gpu_energy_kwh", "energy of the GPUs", member<&P::run, &Run::gpu_kilowatt_hours>,
              as_energy},
    Column<P>{"joules_per_token", "joules a token", member<&P::run, &Run::energy_per_token>,
              as_joules},
    Column<P>{"goodput", "goodput", member<&P::run, &Run::goodput, &Goodput::share>, as_percent<1>},
    Column<P>{"mtbf_s", "", member<&P::run, &Run::goodput, &Goodput::mtbf>},
    Column<P>{"checkpoint_interval_s", "", member<&P::run, &Run::goodput, &Goodput::interval>},
    Column<P>{"assumptions", "assumed",
              [](const P& p) { return p.run ? value_of(run_assumptions(*p.run)) : no_value(); }},
};

constexpr auto kSavedColumns = std::to_array<Column<SavedTensor>>({
    {"name", "tensor", member<&SavedTensor::id>, as_text, Align::kLeft},
    {"bytes", "size", member<&SavedTensor::bytes>, as_size},
});

constexpr auto kSearchedColumns = std::to_array<Column<SearchedPlans>>({
    {"plans", "plans looked at", member<&SearchedPlans::plans>, as_count},
    {"priced", "  priced", member<&SearchedPlans::priced>, as_count},
    {"bounded", "  surely slower", member<&SearchedPlans::bounded>, as_count},
    {"refused", "", [](const SearchedPlans& plans) { return object_of(plans.refused); }},
    {"settings", "", [](const SearchedPlans& plans) { return object_of(plans.settings); }},
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

const Columns<SearchedPlans>& searched_columns() {
  static constexpr Columns<SearchedPlans> kAll{kSearchedColumns};
  return kAll;
}

}  // namespace stepcast
