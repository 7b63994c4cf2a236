// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrate.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/hardware/power_constants.hpp"

namespace stepcast {
namespace {

using Constants = std::vector<CalibratedConstant>;

bool is_of_power(const ConstantInfo* constant) {
  const auto power = power_constants();
  return std::ranges::any_of(power, [constant](const auto& row) { return &row == constant; });
}

// Those that a fit may look for.
Constants searched(const std::vector<PlacedConstant>& placed) {
  Constants all;
  for (const auto& [key, constant] : placed) {
    if (constant->searched) {
      const auto [low, high] = *constant->searched;
      all.push_back({key, constant->unit, low, high, constant->meaning, is_of_power(constant)});
    }
    for (const FormatSearch& format : constant->formats) {
      const auto [low, high] = format.range;
      all.push_back({key + "." + std::string(name(format.dtype)), constant->unit, low, high,
                     constant->meaning, is_of_power(constant)});
    }
  }
  return all;
}

}  // namespace

std::span<const CalibratedConstant> calibrated_constants(ConstantsOf of) {
  // In the order of ConstantsOf.
  static const std::array<Constants, 5> all = {
      searched(placed_constants(ProfileFolder::kKernels)),
      searched(placed_constants(ProfileFolder::kArchitectures)),
      searched(placed_constants(ProfileFolder::kCollectives)),
      searched(placed_constants(kTimedDispatcher)),
      searched(placed_constants(ProfileFolder::kLibraries))};
  static_assert(all.size() == static_cast<std::size_t>(ConstantsOf::kLibraries) + 1);
  return all[static_cast<std::size_t>(of)];
}

}  // namespace stepcast
