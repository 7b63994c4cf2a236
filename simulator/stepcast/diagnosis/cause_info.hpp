// SPDX-License-Identifier: Apache-2.0
// What is known of each cause before a run is looked at: what people call it, how likely it is, and
// how to see whether it is there.
//
// The prior is a weight, 1 of a cause of which nothing more is known: public reports that name
// their cause are too few to say how often users meet each, and ladders of published runs choose
// their steps. A cause that such reports name has one more for each of them.
#pragma once

#include <span>
#include <string_view>

#include "stepcast/result/diagnosis.hpp"

namespace stepcast {

struct CauseInfo {
  Cause cause;
  std::string_view title;
  double prior;
  std::string_view prior_source;  // empty: nothing is known
  std::span<const std::string_view> checks;
};

const CauseInfo& info(Cause cause);

}  // namespace stepcast
