// SPDX-License-Identifier: Apache-2.0
// What a projection gains from more of one resource, as numbers.
#pragma once

#include <string_view>

#include "stepcast/base/units.hpp"

namespace stepcast {

struct Sensitivity {
  std::string_view resource;  // "hbm_bandwidth", with static lifetime
  double factor = 1.0;        // of the resource
  double from = 0.0;          // tokens/s/GPU as it is
  double to = 0.0;            // with the factor
  // Of the clock: the two that are compared; zero of all other resources.
  Hertz from_clock{};
  Hertz to_clock{};

  [[nodiscard]] double change_percent() const { return 100.0 * (to / from - 1.0); }
};

}  // namespace stepcast
