// SPDX-License-Identifier: Apache-2.0
#include "frameworks/key_list.hpp"

namespace stepcast {

std::vector<std::string_view> keys_in(std::string_view text) {
  std::vector<std::string_view> keys;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    if (end != 0) {
      keys.push_back(text.substr(0, end));
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return keys;
}

}  // namespace stepcast
