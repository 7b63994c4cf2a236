// SPDX-License-Identifier: Apache-2.0
// Which layers each pipeline stage holds.
//
// Which of the pp * vpp stages a pipeline rank holds follows from the schedule
// (pipeline_stages.hpp). Five ways to say what is in them:
//   nothing        layers / (pp * vpp) each; balanced where that does not divide
//   "even"         layers / (pp * vpp) each; must divide
//   "balanced"     as even as possible, embedding and loss counting as one layer each, as
//   Megatron's
//                  account-for-embedding and account-for-loss options do
//   [4, 4, 3]      layers of each stage
//   "Et*4|t*4L"    Megatron's layout text: E embedding, t layer, m multi-token prediction, L loss,
//                  | between stages, *n repeats, (...) groups, commas are ignored
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/reason.hpp"

namespace stepcast {

struct LayoutResult {
  std::vector<StageContent> stages;
  std::vector<Reason> reasons;  // why there is no layout; empty if there is one
};

// Parses a layout text, without regard to a model.
LayoutResult parse_layout(std::string_view text);

// What is wrong with a layout as it is written, by itself; nothing of the ways that need a model.
std::vector<std::string> layout_faults(const std::string& layout);

// The stages of a model of `layers` layers and `mtp_layers` multi-token prediction modules.
LayoutResult stage_layout(const PlanRequest& request, std::int64_t vpp, std::int64_t layers,
                          std::int64_t mtp_layers);

}  // namespace stepcast
