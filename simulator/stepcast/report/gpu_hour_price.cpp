// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/gpu_hour_price.hpp"

#include <algorithm>

namespace stepcast {

bool is_amount(double amount) { return amount > 0.0 && amount < 1e12; }

bool is_currency(std::string_view text) {
  constexpr std::size_t kLongest = 12;
  return !text.empty() && text.size() <= kLongest &&
         std::none_of(text.begin(), text.end(), [](char c) {
           const auto code = static_cast<unsigned char>(c);
           return code <= ' ' || code == 127 || (code >= '0' && code <= '9');
         });
}

}  // namespace stepcast
