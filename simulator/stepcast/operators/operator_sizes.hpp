// SPDX-License-Identifier: Apache-2.0
// The sizes and directions that an operator of a file may have.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/graph/direction.hpp"

namespace stepcast {

inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
inline constexpr Range<std::int64_t> kSize{1, kLargestSize};
inline constexpr Range<std::int64_t> kSizeOrNone{0, kLargestSize};
inline constexpr Range<std::int64_t> kTaps{1, 64};
inline constexpr Range<std::int64_t> kHeadSize{1, 65'536};

inline constexpr std::array kDirections = {NamedValue<Direction>{"fwd", Direction::kForward},
                                           NamedValue<Direction>{"bwd", Direction::kBackward}};

// An error if a tensor has more elements than any program counts: one a line, at the largest number
// that it gives, or at `key` if it gives none.
void check_elements(MappingReader& fields, std::string_view key, double elements);

}  // namespace stepcast
