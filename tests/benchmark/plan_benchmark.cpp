// SPDX-License-Identifier: Apache-2.0
// How many complete plans a second on one core: every one checked, its memory, its pipeline and its
// step projected.
//
//   sweep      all plans of a space after each other, as a sweep prices them
//   each_plan  the same, every plan on its own, as `project` prices it
//
// items_per_second counts plans that fit and were priced; `fit` is their share of those that
// divide. The bar of a sweep is 20,000 of a dense model on 512 GPUs and 5,000 of DeepSeek-V3 on
// 2,048. Calculon prices 27 to 47 a second, SimuMax 4.
#include <benchmark/benchmark.h>

#include "backends/builtin_backends.hpp"
#include "sample_specs.hpp"
#include "stepcast/cost/price_cache.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace {

using namespace stepcast;

struct Variant {
  PlanRequest plan;
  TrainingRecipe training;
};

// The pipelines and batches of one share of the ranks, innermost as in a sweep.
void add_pipelines(const Variant& of, const std::vector<Schedule>& schedules,
                   std::vector<Variant>& all) {
  for (const std::int64_t pp : {1, 2, 4, 8, 16}) {
    for (const Schedule schedule : schedules) {
      for (const std::int64_t vpp : {1, 2, 5}) {
        for (const std::int64_t batches : {1, 2, 3, 4, 6, 8}) {
          Variant variant = of;
          variant.plan.pp = pp;
          variant.plan.vpp = vpp;
          variant.plan.schedule = schedule;
          variant.plan.layout = pp > 1 ? "balanced" : "";
          variant.training.global_batch_size *= batches;
          all.push_back(variant);
        }
      }
    }
  }
}

// Degrees, sharding, micro-batches and recomputation, as one would sweep them.
std::vector<Variant> variants(const Experiment& experiment,
                              const std::vector<std::int64_t>& expert_degrees,
                              const std::vector<Schedule>& schedules) {
  std::vector<Variant> all;
  for (const RecomputeKind recompute :
       {RecomputeKind::kNone, RecomputeKind::kSelective, RecomputeKind::kFull}) {
    for (const std::int64_t zero : {1, 3}) {
      for (const std::int64_t tp : {1, 2, 4, 8}) {
        for (const std::int64_t ep : expert_degrees) {
          for (const std::int64_t micro_batch : {1, 2, 4}) {
            Variant variant{{}, experiment.training};
            variant.plan.given = true;
            variant.plan.tp = tp;
            variant.plan.ep = ep;
            variant.plan.zero = zero;
            variant.training.micro_batch_size = micro_batch;
            variant.training.recompute.kind = recompute;
            add_pipelines(variant, schedules, all);
          }
        }
      }
    }
  }
  return all;
}

struct Counts {
  std::int64_t divide = 0;
  std::int64_t priced = 0;
};

Counts sweep_all(const Experiment& site, const std::vector<Variant>& list, const CostModel& cost) {
  PlanProjector projector(site, with_kept_prices(cost, site.cluster));
  Counts counts;
  for (const Variant& variant : list) {
    const ResolvedPlan resolved =
        settle_plan(variant.plan, site.model, variant.training, site.cluster, site.software);
    if (!resolved.reasons.empty()) {
      continue;
    }
    ++counts.divide;
    projector.take(resolved.plan, variant.training);
    if (!projector.memory_if_sure()) {
      continue;
    }
    const StepAtClock step = projector.step();
    benchmark::DoNotOptimize(projector.rates(step.time.step));
    ++counts.priced;
  }
  return counts;
}

Counts project_all(Experiment& experiment, const std::vector<Variant>& list,
                   const CostModel& cost) {
  Counts counts;
  for (const Variant& variant : list) {
    experiment.plan = variant.plan;
    experiment.training = variant.training;
    const Projection projection = project(experiment, cost);
    counts.divide += projection.priced ? 1 : 0;
    counts.priced += projection.feasible() ? 1 : 0;
  }
  return counts;
}

Experiment dense_on_512() {
  const std::vector<Override> changes = {"cluster.gpu=h100_sxm", "cluster.nodes=64",
                                         "software=megatron", "training.global_batch_size=512"};
  return load_experiment(
      test::data_root().folder / "examples/01_llama3.1_70b_mi300x/experiment.yaml", changes,
      test::data_root());
}
std::vector<Variant> dense_space(const Experiment& experiment) {
  return variants(experiment, {1}, {Schedule::kOneFOneB, Schedule::kInterleaved, Schedule::kZbH1});
}

Experiment deepseek_on_2048() {
  return load_experiment(test::data_root().folder / "examples/14_deepseek_v3_h800/experiment.yaml",
                         {"training.global_batch_size=4096"}, test::data_root());
}
std::vector<Variant> deepseek_space(const Experiment& experiment) {
  return variants(experiment, {8, 16, 32, 64},
                  {Schedule::kOneFOneB, Schedule::kInterleaved, Schedule::kDualPipe});
}

void report(benchmark::State& state, const Counts& counts) {
  state.SetItemsProcessed(counts.priced);
  state.counters["divide"] =
      benchmark::Counter(static_cast<double>(counts.divide), benchmark::Counter::kIsRate);
  state.counters["fit"] = static_cast<double>(counts.priced) / static_cast<double>(counts.divide);
}

void run_sweep(benchmark::State& state, const Experiment& site, const std::vector<Variant>& list) {
  const CostModel cost = default_cost_model();
  Counts counts;
  for (auto _ : state) {
    const Counts own = sweep_all(site, list, cost);
    counts.divide += own.divide;
    counts.priced += own.priced;
  }
  report(state, counts);
}

void run_each(benchmark::State& state, Experiment experiment, std::vector<Variant> list) {
  const CostModel cost = default_cost_model();
  // Few of them: they take long.
  std::vector<Variant> some;
  for (std::size_t i = 0; i < list.size(); i += 101) {
    some.push_back(list[i]);
  }
  Counts counts;
  for (auto _ : state) {
    const Counts own = project_all(experiment, some, cost);
    counts.divide += own.divide;
    counts.priced += own.priced;
  }
  report(state, counts);
}

void sweep_dense_70b_512_gpus(benchmark::State& state) {
  const Experiment site = dense_on_512();
  run_sweep(state, site, dense_space(site));
}
void sweep_deepseek_v3_2048_gpus(benchmark::State& state) {
  const Experiment site = deepseek_on_2048();
  run_sweep(state, site, deepseek_space(site));
}
void each_plan_dense_70b_512_gpus(benchmark::State& state) {
  const Experiment site = dense_on_512();
  run_each(state, site, dense_space(site));
}
void each_plan_deepseek_v3_2048_gpus(benchmark::State& state) {
  const Experiment site = deepseek_on_2048();
  run_each(state, site, deepseek_space(site));
}

BENCHMARK(sweep_dense_70b_512_gpus)->Unit(benchmark::kMillisecond);
BENCHMARK(sweep_deepseek_v3_2048_gpus)->Unit(benchmark::kMillisecond);
BENCHMARK(each_plan_dense_70b_512_gpus)->Unit(benchmark::kMillisecond);
BENCHMARK(each_plan_deepseek_v3_2048_gpus)->Unit(benchmark::kMillisecond);

}  // namespace
