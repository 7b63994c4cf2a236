// SPDX-License-Identifier: Apache-2.0
// How far a part that no run was measured on is from those that have runs.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// kNone: a part that kernels were measured on. kGpu: such a die with other memory, clocks, links or
// power. kArchitecture: another die than the one whose kernels' constants it has, rates or clocks
// that are assumed, or a profile of the user's own without a base. kVendor: a generic part
// (generic_part.hpp).
enum class PartDistance { kNone, kGpu, kArchitecture, kVendor };
// What was held out whole to see how far such a part may be off.
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<PartDistance> = {
    "none", "GPU", "architecture", "vendor"};

}  // namespace stepcast
