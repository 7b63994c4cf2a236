// SPDX-License-Identifier: Apache-2.0
// What a search leaves out rests on bounds: none may be above what a plan really takes.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "property/draws.hpp"
#include "stepcast/cost/price_cache.hpp"
#include "stepcast/experiment/plan_projector.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "stepcast/sweep/best_plan.hpp"
#include "sweep_text.hpp"

namespace stepcast::step_bound_property_test {
namespace {

// Spaces of all plans of a model on a cluster, drawn over families, GPUs, software and batches.
class RandomSpaces {
 public:
  explicit RandomSpaces(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    const bool experts = one_in(2);
    const std::vector<std::string> dense = {"llama2_7b", "llama3_70b", "gpt3_175b", "qwen3_8b"};
    const std::vector<std::string> sparse = {"mixtral_8x7b", "deepseek_v2_lite", "deepseek_v3",
                                             "qwen3_30b_a3b", "gpt_oss_20b"};
    std::string text = "model: " + any(experts ? sparse : dense);
    text += "\ncluster: {gpu: " +
            any({"h100_sxm", "h200_sxm", "a100_80gb", "b200", "gb300", "mi300x", "mi355x"}) +
            ", nodes: " + any({"1", "2", "4", "8", "32"});
    text += one_in(6) ? ", gpu_clock: 1200 MHz" : one_in(4) ? ", power_limit: 500 W" : "";
    text += "}\nsoftware: {base: " +
            any({"megatron", "torchtitan", "pytorch_compiled", "megatron_eager", "primus_turbo",
                 "megatron_bridge", "maxtext"});
    text += one_in(3) ? ", cuda_graph: true" : "";
    text += one_in(3) ? ", ep_overlap: true" : "";
    text += "}\ntraining: {sequence_length: " + any({"2048", "4096", "8192", "32768"}) +
            ", global_batch_size: " + any({"64", "128", "256", "512", "2048"}) +
            ", micro_batch_size: [1, 2], dtype: " + any({"bf16", "bf16", "fp8"}) + ", optimizer: " +
            any({"adamw", "adamw", "muon", "adafactor",
                 "{kind: adamw, moments: 8bit, offload: {share: 0.5}}",
                 "{kind: muon, tp_mode: distributed, qkv: joint}"}) +
            ", recompute: [none, selective, full, {recompute: full, recompute_method: block, "
            "recompute_layers: [1, 3]}]}\n";
    if (experts && one_in(3)) {
      text += "expert_exchange: {routing: zipf, zipf_exponent: 0.3}\n";
    }
    text += "plan: {all: true" + std::string(one_in(8) ? ", overlap: uniform" : "") + "}\n";
    return text;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

 private:
  std::string any(const std::vector<std::string>& values) {
    return values[static_cast<std::size_t>(below(std::ssize(values)))];
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }

  std::mt19937_64 random_;
};

// Bounds of steps over steps: each at most 1.
struct Ratios {
  std::vector<double> floors;
  std::vector<double> bounds;
  std::vector<double> memory;

  void check(std::vector<double>& ratios, double least_median, const std::string& called) const {
    REQUIRE_FALSE(ratios.empty());
    std::sort(ratios.begin(), ratios.end());
    const double median = ratios[ratios.size() / 2];
    INFO(called << " of " << ratios.size() << " plans: median " << median << ", largest "
                << ratios.back());
    CHECK(ratios.back() <= 1.0);
    CHECK(median > least_median);
    if (std::getenv("STEPCAST_TEST_ROUNDS") != nullptr) {
      WARN(called << " of " << ratios.size() << " plans: median " << median << ", largest "
                  << ratios.back());
    }
  }
};

std::string text_of(const SweepSpace& space, std::int64_t index) {
  std::string text;
  for (const auto& [key, value] : settings_of(space, index)) {
    text += key + "=" + value + " ";
  }
  return text;
}

void try_plans(const SweepSpace& space, RandomSpaces& random, int plans, Ratios& ratios) {
  const Experiment& site = space.sites().front();
  PlanProjector projector(site, with_kept_prices(default_cost_model(), site.cluster));
  const auto never = [](Seconds) { return false; };
  for (int i = 0; i < plans; ++i) {
    const std::int64_t index = random.below(space.size());
    const SweepRequest request = space.request(index);
    const ResolvedPlan resolved =
        settle_plan(request.plan, site.model, request.training, site.cluster, site.software);
    if (!resolved.reasons.empty()) {
      continue;
    }
    INFO(text_of(space, index));
    projector.take(resolved.plan, request.training);
    const Seconds floor = projector.floor_of_step(never);
    const Bytes least_memory = projector.floor_of_memory();
    Bytes memory;
    for (const StageMemory& stage : projector.memory()) {
      memory = max(memory, stage.total());
    }
    const Seconds bound = projector.step_at_least(never);
    const Seconds step = projector.step().time.step;
    ratios.floors.push_back(floor / step);
    ratios.bounds.push_back(bound / step);
    ratios.memory.push_back(least_memory / memory);
    REQUIRE(floor <= step);
    REQUIRE(bound <= step);
    REQUIRE(least_memory <= memory);
  }
}

}  // namespace

TEST_CASE("no bound of a step or of memory is above what a plan of any space takes", "[property]") {
  // A number of spaces, for who wants more than these.
  const char* rounds = std::getenv("STEPCAST_TEST_ROUNDS");
  const int asked = rounds != nullptr ? std::atoi(rounds) : 0;
  // Fewer spaces may have no plan that runs.
  constexpr int kFewest = 6;
  const int spaces = asked > 0 ? asked : std::max(kFewest, test::draws(24));
  constexpr int kPlans = 120;
  RandomSpaces random(18);
  Ratios ratios;
  for (int i = 0; i < spaces; ++i) {
    const std::string text = random.next();
    INFO(text);
    try_plans(test::sweep_of(text), random, kPlans, ratios);
  }
  ratios.check(ratios.floors, 0.6, "floors of steps");
  ratios.check(ratios.bounds, 0.8, "bounds of steps");
  ratios.check(ratios.memory, 0.4, "floors of memory");
}

// Of full sharding parameters may lie there, of any plan what stays for backward and what the
// optimizer keeps.
TEST_CASE("no bound is above what a plan takes whose memory lies on the host", "[property]") {
  const std::vector<std::pair<std::string, std::string>> on_host = {
      {"optimizer: {kind: adamw, offload: {states: all}}", "offload: {activations: true}"},
      {"optimizer: {kind: adamw, offload: {states: moments}}",
       "offload: {activations: {layers: 2}}"},
      {"optimizer: {kind: adamw, paged: true}", "offload: {parameters: true}"}};
  constexpr int kPlans = 80;
  RandomSpaces random(7);
  Ratios ratios;
  for (std::size_t i = 0; i < 3 * on_host.size(); ++i) {
    const auto& [optimizer, offload] = on_host[i % on_host.size()];
    std::string text = random.next();
    const std::size_t first = text.find("optimizer: ");
    const std::size_t last = text.find(", recompute: [");
    text.replace(first, last - first, optimizer + ", " + offload);
    INFO(text);
    try_plans(test::sweep_of(text), random, kPlans, ratios);
  }
  ratios.check(ratios.floors, 0.0, "floors of steps");
  ratios.check(ratios.bounds, 0.0, "bounds of steps");
  ratios.check(ratios.memory, 0.0, "floors of memory");
}

TEST_CASE("a schedule holds as many activations as its row says, or more", "[property]") {
  for (const ScheduleInfo& row : schedule_infos()) {
    for (std::int64_t ranks = 1; ranks <= 12; ++ranks) {
      for (const std::int64_t chunks : {1, 2, 3}) {
        if (!schedule_reasons(row.schedule, ranks, chunks).empty()) {
          continue;
        }
        for (std::int64_t batches = 1; batches <= 5 * ranks; ++batches) {
          const PipelineShape shape{ranks, chunks, batches};
          std::int64_t most = 0;
          for (const PeakMoments& rank : peak_moments_of(row.schedule, shape)) {
            most = std::max(most, rank.most_in_flight);
          }
          CAPTURE(row.name, ranks, chunks, batches);
          CHECK(row.in_flight(shape) <=
                static_cast<double>(most) / static_cast<double>(chunks) + 1e-12);
        }
      }
    }
  }
}

TEST_CASE("a schedule parts backwards where its row says so", "[property]") {
  for (const ScheduleInfo& row : schedule_infos()) {
    const PipelineShape shape{4, chunks_for(row.schedule, 1), 16};
    bool parts = false;
    for (const RankOrder& order : row.orders(shape)) {
      parts = parts || std::any_of(order.begin(), order.end(), [](const PipelineTask& task) {
                return task.kind == TaskKind::kWeightGradient;
              });
    }
    CAPTURE(row.name);
    CHECK(parts == (row.backward == BackwardRule::kParted));
  }
}

}  // namespace stepcast::step_bound_property_test
