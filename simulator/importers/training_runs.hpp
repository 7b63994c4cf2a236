// SPDX-License-Identifier: Apache-2.0
// Published training runs (JSON lines) as experiments.
//
// A line has `model`, `hardware`, `parallel`, `train`, `measured`, `completeness` (A: everything
// that a simulation needs is stated, B: some of it guessed, C: partial), `family` and `task`; null
// is "not stated". What is not stated gets the framework's default; what cannot be guessed is a
// reason to skip.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stepcast/validation/measured_run.hpp"

namespace stepcast {

MeasuredRun read_training_run(const nlohmann::json& row, ProfileCache& profiles);

// "none", "full", "selective (attention core)", "selective:layernorm,moe_act" and the like.
RecomputeSpec recompute_from_text(const std::string& published);

// Network rate that a text like "1600 Gb/s RoCE node-node" or "4 x 100Gb RoCE per node" states for
// one GPU of a node of `gpus_per_node`; empty if it states none.
std::optional<BytesPerSecond> network_rate_of_gpu(const std::string& published,
                                                  std::int64_t gpus_per_node);

}  // namespace stepcast
