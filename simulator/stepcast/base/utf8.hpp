// SPDX-License-Identifier: Apache-2.0
// Whether bytes are text in UTF-8 (RFC 3629), as JSON and its readers need it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace stepcast {

// Sequences by their first byte: how many bytes follow, and in which range the second one lies,
// which leaves out what is too long, surrogates and what is too large (Unicode 15, table 3-7).
struct Utf8Sequence {
  unsigned char first_low;
  unsigned char first_high;
  std::size_t following;
  unsigned char second_low;
  unsigned char second_high;
};

inline constexpr std::array kUtf8Sequences = {
    Utf8Sequence{0x00, 0x7F, 0, 0, 0},       Utf8Sequence{0xC2, 0xDF, 1, 0x80, 0xBF},
    Utf8Sequence{0xE0, 0xE0, 2, 0xA0, 0xBF}, Utf8Sequence{0xE1, 0xEC, 2, 0x80, 0xBF},
    Utf8Sequence{0xED, 0xED, 2, 0x80, 0x9F}, Utf8Sequence{0xEE, 0xEF, 2, 0x80, 0xBF},
    Utf8Sequence{0xF0, 0xF0, 3, 0x90, 0xBF}, Utf8Sequence{0xF1, 0xF3, 3, 0x80, 0xBF},
    Utf8Sequence{0xF4, 0xF4, 3, 0x80, 0x8F},
};

inline bool byte_lies_in(char letter, unsigned char low, unsigned char high) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte >= low && byte <= high;
}

// How long the sequence is that `text` begins with, 0 where it begins with none.
inline std::size_t utf8_sequence_length(std::string_view text) {
  for (const Utf8Sequence& sequence : kUtf8Sequences) {
    if (!byte_lies_in(text[0], sequence.first_low, sequence.first_high)) {
      continue;
    }
    if (text.size() <= sequence.following) {
      return 0;
    }
    for (std::size_t i = 1; i <= sequence.following; ++i) {
      const bool second = i == 1;
      if (!byte_lies_in(text[i], second ? sequence.second_low : 0x80,
                        second ? sequence.second_high : 0xBF)) {
        return 0;
      }
    }
    return sequence.following + 1;
  }
  return 0;
}

// The place of the first byte that is not of UTF-8: in no sequence, of a longer sequence than need
// be, of a surrogate or beyond U+10FFFF; npos where all are.
inline std::size_t first_not_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace stepcast
