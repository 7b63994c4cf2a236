// SPDX-License-Identifier: Apache-2.0
// What may be a price, or a limit of one, and what it may be counted in.
#pragma once

#include <string_view>

namespace stepcast {

// Above 0 and below 10^12, of whatever it is counted in; days are limited alike.
bool is_amount(double amount);
// A word or a sign of a few letters, which reports print behind a number.
bool is_currency(std::string_view text);

}  // namespace stepcast
