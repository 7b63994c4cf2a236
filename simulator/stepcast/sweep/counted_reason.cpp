// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/counted_reason.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// Reasons that are full of numbers, by how they begin.
struct KnownReason {
  std::string_view start;
  std::string_view counted;
};
constexpr std::array kKnownReasons = {
    KnownReason{"dp = ", "dp is not the number of GPUs / (tp * cp * pp); leave dp out, it follows"},
    KnownReason{"recompute_layers names layer ",
                "recompute_layers names a layer that the model does not have"},
};

bool is_number(std::string_view word) {
  if (!word.empty() && (word.back() == ',' || word.back() == ';' || word.back() == ':')) {
    word.remove_suffix(1);
  }
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return ascii::is_digit(c) || c == ',' || c == '.';
  });
}

std::vector<std::string_view> words_of_reason(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, blank));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return words;
}

}  // namespace

std::string counted_reason(std::string_view reason) {
  for (const KnownReason& known : kKnownReasons) {
    if (reason.starts_with(known.start)) {
      return std::string(known.counted);
    }
  }
  const std::vector<std::string_view> words = words_of_reason(reason);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view end;
    if (words[i] == "=" && i + 1 < words.size() && is_number(words[i + 1])) {
      // "tp = 8" is "tp", and what ends a clause stays.
      ++i;
      end = ascii::is_punctuation(words[i].back()) ? words[i].substr(words[i].size() - 1)
                                                   : std::string_view();
      text += end;
      continue;
    }
    const bool factor = i + 1 < words.size() && words[i + 1] == "*";
    const bool of_plan =
        is_number(words[i]) && !factor &&
        (i == 0 || words[i - 1] == "the" || words[i - 1] == "its" || words[i - 1] == "has");
    if (!of_plan) {
      text += (text.empty() ? "" : " ") + std::string(words[i]);
    }
  }
  return text;
}

}  // namespace stepcast
