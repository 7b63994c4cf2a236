// SPDX-License-Identifier: Apache-2.0
#include "importers/remark.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace stepcast {

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 300;
  text.resize(std::min(text.size(), kLongest));
  return text;
}

std::string short_remark(std::string text) {
  text = shortened(std::move(text));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool mentions(std::string_view remark, std::string_view part) {
  return remark.find(part) != std::string_view::npos;
}

}  // namespace stepcast
