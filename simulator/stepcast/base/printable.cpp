// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/printable.hpp"

namespace stepcast {

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned char kBeforeControl = 0xC2;  // of U+0080 to U+009F in UTF-8
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const unsigned char before = i > 0 ? static_cast<unsigned char>(text[i - 1]) : 0;
    const bool first_of_two = byte == kBeforeControl && next >= 0x80 && next < 0xA0;
    const bool second_of_two = before == kBeforeControl && byte >= 0x80 && byte < 0xA0;
    if (byte >= ' ' && byte != 0x7F && !first_of_two && !second_of_two) {
      shown += text[i];
    } else {
      shown += "\\x";
      shown += kDigits[byte >> 4U];
      shown += kDigits[byte & 15U];
    }
  }
  return shown;
}

}  // namespace stepcast
