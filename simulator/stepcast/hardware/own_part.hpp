// SPDX-License-Identifier: Apache-2.0
// How far a part of the user's own is from those whose profiles ship.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

// kLikeAGpu: a die that ships with other memory, clocks, links or power. kLikeAnArchitecture:
// another die than its base's, rates or clocks that are assumed, or a profile without a base.
// kLikeAVendor: a generic part (generic_part.hpp).
enum class OwnPart { kNone, kLikeAGpu, kLikeAnArchitecture, kLikeAVendor };
// What was held out whole to see how far such a part may be off.
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<OwnPart> = {"none", "GPU", "architecture",
                                                                      "vendor"};

}  // namespace stepcast
