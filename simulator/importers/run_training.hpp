// SPDX-License-Identifier: Apache-2.0
// How a published run was trained and communicated, as the keys `training`, `cluster` and `plan` of
// an experiment. What a source words is read by one rule for all rows; what it does not state and
// what a rule infers is written into `assumed` with the reason.
#pragma once

#include "importers/foreign_row.hpp"
#include "importers/run_model.hpp"
#include "importers/stated_object.hpp"

namespace stepcast {

// How a published text begins that says, for its recomputation, that activations went to the host.
inline constexpr std::string_view kActivationOffload = "activation offload";

// The keys of `training` about recomputation that a published text means: "none", "full",
// "selective (attention core)", "selective:layernorm,moe_act". Throws RefusedRow for another text.
Record recompute_keys(const std::string& published, const std::string& framework, Record& assumed);

// Network rate that a text like "1600 Gb/s RoCE node-node" or "4 x 100Gb RoCE per node" states for
// one GPU of a node of `gpus_per_node`; empty if it states none.
std::optional<BytesPerSecond> network_rate_of_gpu(const std::string& published,
                                                  std::int64_t gpus_per_node);

// What of the cluster other keys depend on.
// NOLINTNEXTLINE(bugprone-exception-escape): JSON values move without throwing
struct RunCluster {
  Record record;
  std::int64_t gpus = 1;
};
RunCluster run_cluster(StatedObject& hardware, const DeviceSpec& device, Record& assumed);

// "bf16", "fp8", "fp8_block", "fp4" ... as `training.dtype` has it on the part.
std::string dtype_key(const std::string& published, const DeviceSpec& device);

}  // namespace stepcast
