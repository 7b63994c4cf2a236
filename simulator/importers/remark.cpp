// SPDX-License-Identifier: Apache-2.0
#include "importers/remark.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 300;
  text.resize(std::min(text.size(), kLongest));
  return text;
}

std::string short_remark(std::string text) { return ascii::lower_case(shortened(std::move(text))); }

bool mentions(std::string_view remark, std::string_view part) {
  return remark.find(part) != std::string_view::npos;
}

}  // namespace stepcast
