// SPDX-License-Identifier: Apache-2.0
// What a sweep file says of a key, fixed or varied, before it is read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sweep/sweep_axes.hpp"

namespace stepcast {

// The texts of each key that the file sets or varies: "plan.tp" -> 4, 8.
using GivenTexts = std::map<std::string, std::vector<std::string>, std::less<>>;
GivenTexts given_texts(const WrittenSweep& sweep);

using Degrees = std::set<std::int64_t>;

// The numbers given for a key. What is no number, or none that a degree can be, is left out: it is
// reported where it is read.
Degrees given_degrees(const GivenTexts& given, std::string_view key);

// Every number that divides `value`, which is positive.
Degrees divisors(std::int64_t value);

}  // namespace stepcast
