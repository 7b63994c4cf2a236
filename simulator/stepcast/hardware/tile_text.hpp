// SPDX-License-Identifier: Apache-2.0
// The two sides of a tile as profiles write them: "128x64".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stepcast {

struct TileSides {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// Nothing if it is not two whole numbers from 1 to 65,536 with an x between them.
inline std::optional<TileSides> parse_tile(std::string_view text) {
  constexpr std::int64_t kLongest = 65'536;
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) {
    return std::nullopt;
  }
  const auto side = [](std::string_view digits) {
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, fault] = std::from_chars(digits.data(), end, value);
    const bool good = fault == std::errc{} && stop == end && value >= 1 && value <= kLongest;
    return good ? value : 0;
  };
  const TileSides sides{side(text.substr(0, cross)), side(text.substr(cross + 1))};
  return sides.first > 0 && sides.second > 0 ? std::optional(sides) : std::nullopt;
}

}  // namespace stepcast
