// SPDX-License-Identifier: Apache-2.0
// A search that leaves plans out finds what a sweep of every plan finds, and accounts for each
// plan.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "sweep_text.hpp"

namespace stepcast::plan_search_property_test {
namespace {

struct Space {
  std::string name;
  std::string model;
  std::string cluster;
  std::string training;
  std::string plan = "all: true";
  std::string rank_by = "tokens_per_second_per_gpu";
  std::string more{};
};

SweepSpace read(const Space& space) {
  return test::sweep_of("model: " + space.model + "\ncluster: {" + space.cluster +
                        "}\ntraining: {" + space.training + "}\nplan: {" + space.plan +
                        "}\nrank_by: " + space.rank_by + "\n" + space.more);
}

std::vector<Space> spaces() {
  const std::string dense = "sequence_length: 4096, global_batch_size: [64, 128]";
  const std::string few = "sequence_length: 4096, global_batch_size: 256, micro_batch_size: 1";
  const std::string h100 = "gpu: h100_sxm, nodes: 4";
  const std::string experts = "all: true, tp: [1, 2], zero: [1, 3]";
  std::vector<Space> all = {
      {"dense on H100", "llama3_8b", h100, dense},
      {"dense on A100", "llama2_13b", "gpu: a100_80gb, nodes: 4", dense},
      {"dense on MI300X", "llama3_8b", "gpu: mi300x, nodes: 4", dense},
      {"dense on B200", "llama3_70b", "gpu: b200, nodes: 8", few},
      {"dense on MI355X", "llama3_70b", "gpu: mi355x, nodes: 4", few},
      {"dense in fp8", "llama3_8b", h100, few + ", dtype: fp8"},
      {"dense by the step", "llama3_8b", h100, dense, "all: true", "step_time_s"},
      {"dense by memory", "llama3_8b", h100, dense, "all: true", "peak_memory_bytes"},
      {"dense by rate", "llama3_8b", h100, few, "all: true", "model_tflops_per_gpu"},
      {"dense by MFU", "llama3_8b", h100, few, "all: true", "mfu"},
      {"dense by power", "llama3_8b", h100, few, "all: true", "power_w"},
      {"dense by energy", "llama3_8b", h100, few, "all: true", "tokens_per_joule"},
      {"several sizes of a cluster", "llama3_8b", "gpu: h100_sxm, nodes: [1, 2, 4]", few,
       "all: true", "tokens_per_second"},
      {"several GPUs", "llama3_8b", "gpu: [h100_sxm, mi300x], nodes: 2", few},
      {"at a locked clock", "llama3_8b", h100 + ", gpu_clock: 1200 MHz", few},
      {"at a low power limit", "llama3_8b", h100 + ", power_limit: 450 W", few},
      {"long sequences", "llama3_8b", h100,
       "sequence_length: 65536, global_batch_size: 64, micro_batch_size: 1"},
      {"recomputed in blocks", "llama3_8b", h100,
       few + ", recompute: [none, {recompute: full, recompute_method: block, recompute_layers: "
             "[1, 2, 4]}]",
       "all: true, zero: 1"},
      {"experts on H100", "mixtral_8x7b", h100, few, experts},
      {"experts on MI300X", "mixtral_8x7b", "gpu: mi300x, nodes: 4", few, experts},
      {"latent attention on H800", "deepseek_v2_lite", "gpu: h800, nodes: 4", few, experts},
      {"experts side by side", "deepseek_v2_lite", h100, few, experts, "tokens_per_second_per_gpu",
       "software: {base: megatron, ep_overlap: true}\n"},
      {"experts in every order of ranks", "deepseek_v2_lite", h100, few,
       "order: [tp-cp-ep-dp-pp, tp-cp-dp-ep-pp, tp-cp-ep-pp-dp, pp-ep-dp-cp-tp], tp: [1, 2], cp: "
       "[1, 2], pp: [1, 3, 9], ep: [1, 4, 8, 16], zero: [0, 1, 3]"},
      {"with constraints", "llama3_8b", h100, dense, "all: true", "tokens_per_second_per_gpu",
       "constraints: [\"tp <= 4\", \"pp <= 4\"]\n"},
  };
  return all;
}

SweepSummary summary_of(const SweepSpace& space, const std::optional<SearchGoal>& goal,
                        std::size_t top, int threads, std::int64_t chunk) {
  const std::vector<CostModel> costs(space.sites().size(), default_cost_model());
  SweepRun run;
  run.grid = {space.size(), chunk};
  run.threads = threads;
  run.evaluator = evaluators_of(space, costs, goal);
  ChunksInMemory store;
  run_sweep(run, store, {});
  SweepTally tally(space, top);
  for (std::int64_t i = 0; i < run.grid.chunks(); ++i) {
    tally.add(store.read(i));
  }
  return tally.summary();
}

void check_same(const std::vector<PlanNumbers>& found, const std::vector<PlanNumbers>& all) {
  REQUIRE(found.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i].plan == all[i].plan);
    CHECK(found[i].step == all[i].step);
    CHECK(found[i].peak_memory == all[i].peak_memory);
    CHECK(found[i].power == all[i].power);
    CHECK(found[i].tokens_per_second_per_gpu == all[i].tokens_per_second_per_gpu);
  }
}

std::int64_t accounted_for(const SweepSummary& summary) {
  std::int64_t plans = summary.priced + summary.bounded;
  for (const auto& [reason, count] : summary.refused) {
    plans += count;
  }
  return plans;
}

}  // namespace

TEST_CASE("a search finds the plans of a sweep of every plan, in every kind of space",
          "[property]") {
  constexpr std::size_t kTop = 10;
  for (const Space& given : spaces()) {
    CAPTURE(given.name);
    const SweepSpace space = read(given);
    const SweepSummary all = summary_of(space, std::nullopt, kTop, 2, 512);
    const std::optional<SearchGoal> goal = goal_of(space, kTop);
    CHECK(goal.has_value() == can_be_bounded(space.rank_by()));
    const SweepSummary found = summary_of(space, goal, kTop, 1, 512);
    check_same(found.best, all.best);
    check_same(found.memory_front, all.memory_front);
    check_same(found.gpu_front, all.gpu_front);
    CHECK(accounted_for(all) == space.size());
    CHECK(accounted_for(found) == space.size());
    CHECK(found.priced <= all.priced);
    CHECK(all.bounded == 0);
  }
}

TEST_CASE("what a search counts does not depend on the number of threads", "[property]") {
  const Space given = spaces().front();
  const SweepSpace space = read(given);
  const SweepSummary one = summary_of(space, goal_of(space, 5), 5, 1, 256);
  for (const int threads : {2, 3, 4}) {
    CAPTURE(threads);
    const SweepSummary several = summary_of(space, goal_of(space, 5), 5, threads, 256);
    CHECK(several.priced == one.priced);
    CHECK(several.bounded == one.bounded);
    CHECK(several.refused == one.refused);
    check_same(several.best, one.best);
    check_same(several.memory_front, one.memory_front);
  }
  CHECK(one.bounded > 0);
}

}  // namespace stepcast::plan_search_property_test
