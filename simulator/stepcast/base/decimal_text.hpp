// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as text, with a point in every locale that a process may have set.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// The number that `text` begins with: 1500 of "1500, 3201"; 0 if it begins with none.
double leading_decimal(std::string_view text);

// With as many digits after the point: 1.50 of 1.5 and 2.
std::string fixed_decimal(double value, int digits);

// With one to three digits after the point and thousands separators, as reports print numbers; from
// 10^12 on a whole one.
std::string decimals(double value, int digits);

}  // namespace stepcast
