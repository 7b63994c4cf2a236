// SPDX-License-Identifier: Apache-2.0
// How the rate of a GPU falls as more of them train, and what takes it (experiment/scaling.hpp).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

// Weak: the global batch grows with the GPUs. Strong: it stays.
enum class Scaling { kWeak, kStrong };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<Scaling> = {"weak", "strong"};

// What a cause takes of the rate of the smallest size that can run; below zero: what it gives.
struct ScalingPart {
  std::string cause;  // "dependent steps of communication"
  double share = 0.0;
};

// One number of GPUs; `loss` and `parts` are of sizes that can run.
struct ScaledSize {
  Projection projection;
  bool exists = true;  // else the experiment has no such size, and there are only GPUs and reasons
  std::optional<SearchedPlans> searched{};  // where its plan is the best of many
  double loss = 0.0;                        // of the rate of the smallest size, a share of it
  std::vector<ScalingPart> parts{};         // add up to the loss; all sizes have the same causes
};

struct ScalingCurve {
  Scaling scaling = Scaling::kWeak;
  std::vector<ScaledSize> sizes;  // the smallest first
  // What was assumed for all sizes, and what changes with them beside the GPUs.
  std::vector<std::string> notes{};
};

}  // namespace stepcast
