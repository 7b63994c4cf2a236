// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/fastest_way.hpp"

#include <algorithm>
#include <string>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/diagnosis/other_software.hpp"

namespace stepcast::fastest_way_test {
namespace {

// A plan that is worse than it need be: every layer is recomputed, and a layer divided by four.
std::string run_of(const std::string& software) {
  return "model: llama3.1_8b\n"
         "cluster: {gpu: h100_sxm, nodes: 1}\n"
         "training: {sequence_length: 4096, micro_batch_size: 1, global_batch_size: 32, recompute: "
         "full}\n"
         "plan: {tp: 4, fsdp: 2}\n"
         "software: " +
         software + "\n";
}

class Bench {
 public:
  explicit Bench(const std::string& text)
      : tree_{parse_config(text, "run"), {}},
        experiment_(read_experiment(tree_.root, {}, profiles_)),
        run_(tree_, experiment_, profiles_, cost_) {}

  [[nodiscard]] const VariedRun& run() const { return run_; }
  [[nodiscard]] const Experiment& experiment() const { return experiment_; }
  [[nodiscard]] Projection base() const { return run_.projected({}); }

 private:
  ProfileCache profiles_{test::data_root()};
  CostModel cost_ = default_cost_model();
  ExperimentTree tree_;
  Experiment experiment_;
  VariedRun run_;
};

TEST_CASE("a better plan on the same GPUs is found, and projects to what is said of it", "[unit]") {
  const Bench bench(run_of("torchtitan"));
  const Projection base = bench.base();
  REQUIRE(base.priced);
  const FastestWay best = fastest_plan(bench.run(), base);
  CHECK(best.tried > 100);
  REQUIRE_FALSE(best.settings.empty());
  CHECK(best.gain > 1.2);
  const Projection again = bench.run().projected(best.settings);
  CHECK(again.tokens_per_second_per_gpu == best.tokens_per_second_per_gpu);
  CHECK(again.tokens_per_second_per_gpu == Approx(best.gain * base.tokens_per_second_per_gpu));
  CHECK(again.peak_memory() == best.peak_memory);
  CHECK(again.gpus == base.gpus);
  CHECK(again.training.global_batch_size == base.training.global_batch_size);
}

TEST_CASE("of a plan that a search found there is no faster one", "[unit]") {
  Bench bench(run_of("torchtitan"));
  const FastestWay best = fastest_plan(bench.run(), bench.base());
  std::string text = run_of("torchtitan");
  ConfigNode root = parse_config(text, "run");
  for (const auto& [key, value] : best.settings) {
    apply_override(root, Override(key + "=" + value));
  }
  const ExperimentTree tree{root, {}};
  ProfileCache profiles(test::data_root());
  const CostModel cost = default_cost_model();
  const Experiment experiment = read_experiment(root, {}, profiles);
  const VariedRun run(tree, experiment, profiles, cost);
  const FastestWay again = fastest_plan(run, run.projected({}));
  CHECK(again.settings.empty());
  CHECK(again.gain == 1.0);
}

TEST_CASE("an eager set is kin of the compiled ones that it is on top of", "[unit]") {
  const Bench bench(run_of("torchtitan_eager"));
  const std::vector<std::string> sets = kindred_software(bench.experiment(), test::data_root());
  for (const char* known : {"torchtitan_eager_2024", "torchtitan", "torchtitan_2026_03"}) {
    INFO(known);
    CHECK(std::ranges::count(sets, known) == 1);
  }
  CHECK(std::ranges::count(sets, "torchtitan_eager") == 0);
  CHECK(std::ranges::count(sets, "megatron") == 0);
  const FastestWay best = fastest_software(bench.run(), bench.base(), test::data_root());
  CHECK(best.tried == std::ssize(sets));
  CHECK(best.gain > 1.0);
}

TEST_CASE("a set without kin has no better one", "[unit]") {
  const Bench bench(run_of("megatron"));
  const FastestWay best = fastest_software(bench.run(), bench.base(), test::data_root());
  CHECK(best.tried == 0);
  CHECK(best.settings.empty());
}

TEST_CASE("another set is given beneath the switches that an experiment has of its own", "[unit]") {
  const ConfigNode named = parse_config("software: torchtitan\n", "run");
  CHECK(software_settings(named, "megatron") == KeySettings{{"software", "megatron"}});
  const ConfigNode changed = parse_config("software: {base: torchtitan, norm: eager}\n", "run");
  CHECK(software_settings(changed, "megatron") == KeySettings{{"software.base", "megatron"}});
}

}  // namespace
}  // namespace stepcast::fastest_way_test
