// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/memory_savings.hpp"

#include <algorithm>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::memory_savings_test {
namespace {

// An 8B model on a node of H100: 8 sequences of 8,192 tokens a GPU do not fit without
// recomputation.
constexpr const char* kRun =
    "model: llama3.1_8b\n"
    "cluster: {gpu: h100_sxm, nodes: 1}\n"
    "training: {sequence_length: 8192, micro_batch_size: 8, global_batch_size: 64, recompute: "
    "none}\n"
    "plan: {fsdp: 8}\n"
    "software: torchtitan\n";

class Bench {
 public:
  explicit Bench(const std::string& text)
      : tree_{parse_config(text, "run"), {}},
        experiment_(read_experiment(tree_.root, {}, profiles_)),
        run_(tree_, experiment_, profiles_, cost_) {}

  [[nodiscard]] MemoryDiagnosis diagnosed(std::optional<Bytes> tried = std::nullopt) const {
    return diagnose_memory(run_, experiment_, tried);
  }
  [[nodiscard]] Projection projected(const KeySettings& settings) const {
    return run_.projected(settings);
  }

 private:
  ProfileCache profiles_{test::data_root()};
  CostModel cost_ = default_cost_model();
  ExperimentTree tree_;
  Experiment experiment_;
  VariedRun run_;
};

const MemorySaving* saving_of(const MemoryDiagnosis& d, std::string_view what) {
  const auto found = std::ranges::find(d.savings, what, &MemorySaving::what);
  return found == d.savings.end() ? nullptr : &*found;
}

TEST_CASE("a saving is the difference of two projections", "[unit]") {
  const Bench bench(kRun);
  const MemoryDiagnosis d = bench.diagnosed();
  const MemorySaving* full = saving_of(d, "full recomputation");
  REQUIRE(full != nullptr);
  CHECK(full->settings == KeySettings{{"training.recompute", "full"}});
  const Projection with = bench.projected(full->settings);
  const Bytes before = d.projection.fullest_stage()->in_use();
  CHECK(full->in_use == with.fullest_stage()->in_use());
  CHECK(full->saved == before - with.fullest_stage()->in_use());
  CHECK(full->pace ==
        Approx(with.tokens_per_second_per_gpu / d.projection.tokens_per_second_per_gpu));
  CHECK(full->pace < 1.0);
}

TEST_CASE("every saving saves, the cheapest first", "[unit]") {
  const MemoryDiagnosis d = Bench(kRun).diagnosed();
  REQUIRE(d.savings.size() > 3);
  CHECK(std::ranges::is_sorted(d.savings, std::greater<>(), &MemorySaving::pace));
  for (const MemorySaving& saving : d.savings) {
    CAPTURE(saving.what);
    CHECK(saving.saved > Bytes{});
  }
}

// Half of the micro-batch halves what is kept of it, and no weights.
TEST_CASE("half a micro-batch saves half of the activations", "[unit]") {
  const Bench bench(kRun);
  const MemoryDiagnosis d = bench.diagnosed();
  const MemorySaving* half = saving_of(d, "micro-batches of half the sequences");
  REQUIRE(half != nullptr);
  const Projection with = bench.projected(half->settings);
  CHECK(with.fullest_stage()->activations.value() ==
        Approx(0.5 * d.projection.fullest_stage()->activations.value()).epsilon(0.1));
  CHECK(with.fullest_stage()->parameters == d.projection.fullest_stage()->parameters);
}

TEST_CASE("what the experiment does already is no saving", "[unit]") {
  const MemoryDiagnosis d = Bench(std::string(kRun) + "description: recomputes all\n").diagnosed();
  CHECK(saving_of(d, "ZeRO 3") == nullptr);  // fsdp shards everything
}

// A saved tensor of an MLP: 8 x 8192 tokens x 14336 values of 2 bytes are 1.75 GiB.
TEST_CASE("the request that failed is told by what is as large", "[unit]") {
  const Bench bench(kRun);
  const MemoryDiagnosis d = bench.diagnosed(Bytes(8.0 * 8192.0 * 14336.0 * 2.0));
  const auto found =
      std::ranges::find(d.as_large, "saved by a dense layer: mlp.gate", &TensorOfSize::what);
  CHECK(found != d.as_large.end());
  CHECK(bench.diagnosed(Bytes(12345.0)).as_large.empty());
  CHECK(bench.diagnosed().as_large.empty());
}

TEST_CASE("a plan that does not divide has its reasons alone", "[unit]") {
  const MemoryDiagnosis d = Bench(
                                "model: llama3.1_8b\n"
                                "cluster: {gpu: h100_sxm, nodes: 1}\n"
                                "training: {sequence_length: 8192, global_batch_size: 64}\n"
                                "plan: {tp: 3}\n")
                                .diagnosed(Bytes(1e9));
  CHECK_FALSE(d.projection.reasons.empty());
  CHECK(d.savings.empty());
}

}  // namespace
}  // namespace stepcast::memory_savings_test
