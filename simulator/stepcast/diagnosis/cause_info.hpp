// SPDX-License-Identifier: Apache-2.0
// What is known of each cause before a run is looked at: what people call it, how likely it is, and
// how to see whether it is there.
//
// The prior is a weight: 1, and 1 more for each source among the shipped runs and reports in which
// a cause was seen, as an answer to somebody who asked or as a step of somebody who tuned. Sources
// and not runs are counted, since a ladder repeats its steps.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

// How to see a cause: what to run or to read, and what it says where the cause is there.
struct Check {
  std::string_view text;
  std::optional<DeviceRuntime> runtime{};      // whose tools it names; nothing: any
  std::optional<FrameworkFamily> framework{};  // whose options or log it names; nothing: any

  [[nodiscard]] bool applies_to(const Experiment& experiment) const;
};

struct CauseInfo {
  Cause cause;
  std::string_view title;
  std::span<const std::string_view> seen_by;  // sources
  std::span<const Check> checks;

  [[nodiscard]] double prior() const { return 1.0 + static_cast<double>(seen_by.size()); }
};

const CauseInfo& info(Cause cause);

}  // namespace stepcast
