// SPDX-License-Identifier: Apache-2.0
#include "stepcast/calibration/calibrate.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "stepcast/dispatchers/dispatcher_table.hpp"
#include "stepcast/hardware/kernel_tables.hpp"
#include "stepcast/hardware/placed_constants.hpp"

namespace stepcast {
namespace {

using Constants = std::vector<CalibratedConstant>;

bool is_of_power(const ConstantInfo* constant) {
  return std::ranges::any_of(kernel_tables::kPower,
                             [constant](const auto& row) { return &row == constant; });
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
  static const Constants kernels = searched(placed_constants(ProfileFolder::kKernels));
  static const Constants architectures = searched(placed_constants(ProfileFolder::kArchitectures));
  static const Constants collectives = searched(placed_constants(ProfileFolder::kCollectives));
  static const Constants exchanges = searched(placed_constants(kTimedDispatcher));
  static const Constants libraries = searched(placed_constants(ProfileFolder::kLibraries));
  switch (of) {
    case ConstantsOf::kKernels:
      return kernels;
    case ConstantsOf::kArchitectures:
      return architectures;
    case ConstantsOf::kCollectives:
      return collectives;
    case ConstantsOf::kExchanges:
      return exchanges;
    case ConstantsOf::kLibraries:
      return libraries;
  }
  return {};
}

}  // namespace stepcast
