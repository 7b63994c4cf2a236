// SPDX-License-Identifier: Apache-2.0
// What the figures of a part are: those of a product, or what its maker announced before there was
// one, which reports say beside every number of it.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/base/enum_names.hpp"

namespace stepcast {

enum class PartStanding { kShipped, kAnnounced };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<PartStanding> = {"shipped", "announced"};

inline constexpr std::string_view kAnnouncedEstimate = "an estimate from announced figures";

}  // namespace stepcast
