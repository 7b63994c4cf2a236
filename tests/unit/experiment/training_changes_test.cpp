// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/training_changes.hpp"

#include "catch.hpp"

namespace stepcast::training_changes_test {
namespace {

TEST_CASE("keys that a section has are left out, others are not named", "[unit]") {
  const ConfigNode run = parse_config("plan: {tp: 2, dp: 4}\n", "run");
  CHECK(left_out(run, "plan", {"dp", "fsdp"}) == KeySettings{{"plan.dp", "null"}});
  CHECK(left_out(run, "training", {"recompute"}).empty());
}

TEST_CASE("another recomputation takes the keys of the one before with it", "[unit]") {
  const ConfigNode run = parse_config(
      "training: {recompute: full, recompute_method: block, recompute_layers: 2}\n", "run");
  CHECK(recomputation_settings(run, RecomputeKind::kSelective) ==
        KeySettings{{"training.recompute_method", "null"},
                    {"training.recompute_layers", "null"},
                    {"training.recompute", "selective"}});
}

TEST_CASE("an optimizer stays what it is when its states leave", "[unit]") {
  CHECK(optimizer_offload_settings(parse_config("training: {optimizer: muon}\n", "run")) ==
        KeySettings{{"training.optimizer", "{kind: muon, offload: true}"}});
  CHECK(optimizer_offload_settings(
            parse_config("training: {optimizer: {kind: adamw, moments: bf16}}\n", "run")) ==
        KeySettings{{"training.optimizer.offload", "true"}});
  CHECK(optimizer_offload_settings(parse_config("model: llama3.1_8b\n", "run")) ==
        KeySettings{{"training.optimizer", "{kind: adamw, offload: true}"}});
}

}  // namespace
}  // namespace stepcast::training_changes_test
