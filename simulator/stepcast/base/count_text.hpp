// SPDX-License-Identifier: Apache-2.0
// Large whole numbers as people write them: "15T", "1.5B", "300M", "64k", "2e12" or plain digits.
//
// k, M, B and T are 10^3, 10^6, 10^9 and 10^12, as model cards count tokens and parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepcast {

// The number that `text` is, where it is a whole number and nothing else: "12".
std::optional<std::int64_t> parse_whole(std::string_view text);
// The count that `text` is; nothing if it is no whole number from 0 to 10^18. Case counts: "15t" is
// none.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace stepcast
