// SPDX-License-Identifier: Apache-2.0
// How many complete plans a second: every one checked, its memory and its step projected, on one
// core and with prices kept for one sweep at most.
//
//   sweep      all plans of a list after each other, prices of operators kept from plan to plan
//   each_plan  the same, every plan on its own
//
// items_per_second counts plans that run; the bar is 2,000 of a sweep.
#include <benchmark/benchmark.h>

#include "backends/builtin_backends.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/price_cache.hpp"
#include "stepcast/experiment/project.hpp"

namespace {

using namespace stepcast;

Experiment example(const char* name) {
  return load_experiment(test::data_root().folder / "examples" / name / "experiment.yaml", {},
                         test::data_root());
}

struct Variant {
  PlanRequest plan;
  TrainingRecipe training;
};

// Degrees, sharding, micro-batches and recomputation, as one would sweep them.
std::vector<Variant> variants(const Experiment& experiment) {
  std::vector<Variant> all;
  const bool experts = experiment.model.moe.has_value();
  const std::vector<std::int64_t> expert_degrees =
      experts ? std::vector<std::int64_t>{8, 16, 32, 64} : std::vector<std::int64_t>{1};
  for (const std::int64_t tp : {1, 2, 4, 8}) {
    for (const std::int64_t pp : {1, 2, 4, 8, 16}) {
      for (const std::int64_t ep : expert_degrees) {
        for (const std::int64_t zero : {1, 3}) {
          for (const std::int64_t micro_batch : {1, 2, 4}) {
            for (const RecomputeKind recompute :
                 {RecomputeKind::kNone, RecomputeKind::kSelective, RecomputeKind::kFull}) {
              Variant variant{{}, experiment.training};
              variant.plan.given = true;
              variant.plan.tp = tp;
              variant.plan.pp = pp;
              variant.plan.ep = ep;
              variant.plan.zero = zero;
              variant.plan.layout = pp > 1 ? "balanced" : "";
              variant.training.micro_batch_size = micro_batch;
              variant.training.recompute.kind = recompute;
              all.push_back(variant);
            }
          }
        }
      }
    }
  }
  return all;
}

std::int64_t project_all(Experiment& experiment, const std::vector<Variant>& list,
                         const CostModel& cost) {
  std::int64_t priced = 0;
  for (const Variant& variant : list) {
    experiment.plan = variant.plan;
    experiment.training = variant.training;
    priced += project(experiment, cost).priced ? 1 : 0;
  }
  return priced;
}

void run(benchmark::State& state, const char* name, bool keeps_prices) {
  Experiment experiment = example(name);
  const std::vector<Variant> list = variants(experiment);
  const CostModel cost = default_cost_model();
  std::int64_t priced = 0;
  for (auto _ : state) {
    priced += project_all(experiment, list,
                          keeps_prices ? with_kept_prices(cost, experiment.cluster) : cost);
  }
  state.SetItemsProcessed(priced);
}

void sweep(benchmark::State& state, const char* name) { run(state, name, true); }
void each_plan(benchmark::State& state, const char* name) { run(state, name, false); }

BENCHMARK_CAPTURE(sweep, llama_70b_64_mi300x, "01_llama3.1_70b_mi300x")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, llama_405b_h100, "12_llama3.1_405b_h100")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, mixtral_8x22b_h100, "13_mixtral_8x22b_h100")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, deepseek_v3_2048_h800, "14_deepseek_v3_h800")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(each_plan, llama_70b_64_mi300x, "01_llama3.1_70b_mi300x")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(each_plan, deepseek_v3_2048_h800, "14_deepseek_v3_h800")
    ->Unit(benchmark::kMillisecond);

}  // namespace
