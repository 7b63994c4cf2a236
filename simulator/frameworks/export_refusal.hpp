// SPDX-License-Identifier: Apache-2.0
// Why a framework cannot run an experiment: each reason with the key of ours that is in the way, at
// the place where an experiment or the file of its model says it.
//
//   mine.yaml:7:26: error: megatron cannot run 'model.attention.qk_norm' full: it norms each head;
//   take none or head
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/graph/trained_weights.hpp"

namespace stepcast {

struct ExportRefusal {
  std::string key;     // "plan.schedule"
  std::string value;   // that it has, "dualpipe"; empty: the key alone is in the way
  std::string reason;  // "it has no such pipeline schedule"
  std::string remedy;  // "take 1f1b or interleaved_1f1b"
};

// Of a framework that trains all parameters, which `reason` says; nothing if they are all trained.
std::optional<ExportRefusal> trains_less(const TrainedWeights& weights, std::string reason);

// Throws ConfigError with each of them, if there is any. `root` is the experiment, whose files lie
// in `folder`.
void throw_refusals(const std::vector<ExportRefusal>& refusals, std::string_view framework,
                    const ConfigNode& root, const std::filesystem::path& folder);

}  // namespace stepcast
