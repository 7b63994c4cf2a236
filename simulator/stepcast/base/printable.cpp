// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/printable.hpp"

#include <algorithm>

#include "stepcast/base/utf8.hpp"

namespace stepcast {
namespace {

// Whether the sequence, of one letter in UTF-8, is one that a terminal shows.
bool is_shown(std::string_view sequence) {
  const auto byte = static_cast<unsigned char>(sequence.front());
  if (sequence.size() == 1) {
    return byte >= ' ' && byte != 0x7F;
  }
  constexpr unsigned char kBeforeControl = 0xC2;  // of U+0080 to U+009F
  return byte != kBeforeControl || static_cast<unsigned char>(sequence[1]) >= 0xA0;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const std::size_t letter = utf8_sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(letter, 1));
    text.remove_prefix(sequence.size());
    if (letter > 0 && is_shown(sequence)) {
      shown += sequence;
      continue;
    }
    for (const char c : sequence) {
      const auto byte = static_cast<unsigned char>(c);
      shown += "\\x";
      shown += kDigits[byte >> 4U];
      shown += kDigits[byte & 15U];
    }
  }
  return shown;
}

std::string beginning_of(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) {
    return std::string(text);
  }
  std::size_t end = longest;
  while (end > 0 && byte_lies_in(text[end], 0x80, 0xBF)) {  // within a letter
    --end;
  }
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace stepcast
