// SPDX-License-Identifier: Apache-2.0
// Times of one layer that others measured, against the operators of `explain`.
#include <algorithm>
#include <string>
#include <vector>

#include "backends/builtin_backends.hpp"
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/experiment/explain.hpp"

namespace stepcast::layer_times_test {
namespace {

struct LayerTime {
  Seconds forward;
  Seconds backward;
};

// Of all operators of the layers, exchanges included, whose name starts with one of `parts`.
LayerTime layer_time(const Explanation& e, const std::vector<std::string>& parts) {
  LayerTime time;
  for (const ExplainedOp& entry : e.operators) {
    for (const std::string& part : parts) {
      if (!name(entry.counted.op.id).starts_with(part)) {
        continue;
      }
      const bool forward = entry.counted.pass == StepPass::kForward;
      (forward ? time.forward : time.backward) += entry.total();
    }
  }
  return time;
}

// tests/validation/mi300x_deepseek_v3_layer.yaml says what was measured.
TEST_CASE("a MoE layer of DeepSeek-V3 on MI300X takes what Primus measured, within 15 %",
          "[unit]") {
  const std::filesystem::path file =
      test::data_root().folder / "tests" / "validation" / "mi300x_deepseek_v3_layer.yaml";
  const Explanation e = explain(load_experiment(file, {}, test::data_root()), default_cost_model());
  REQUIRE(e.projection.priced);
  REQUIRE(e.projection.plan.micro_batches == 2);
  const LayerTime both = layer_time(e, {"attention.", "moe.", "experts.", "mlp."});
  // Longest first: that of the layer comes before those of the embedding and the head.
  const auto added = std::find_if(e.operators.begin(), e.operators.end(), [](const auto& entry) {
    return entry.counted.op.id == OpId::kGradientAccumulate;
  });
  REQUIRE(added != e.operators.end());
  CHECK(both.forward.value() / 2.0 == Approx(23.9e-3).epsilon(0.15));
  CHECK((both.backward + added->total()).value() / 2.0 == Approx(48.8e-3).epsilon(0.15));
}

}  // namespace
}  // namespace stepcast::layer_times_test
