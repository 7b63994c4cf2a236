// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/nearest_name.hpp"

#include <algorithm>
#include <vector>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kBetweenWords = "_-.";
constexpr std::size_t kMostNamed = 4;  // names that all go on after what is given

using ascii::same_letter;
using ascii::same_letters;

bool begins_with(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         same_letters(text.substr(0, beginning.size()), beginning);
}

// "gbs" of "global_batch_size".
std::string initials_of(std::string_view name) {
  std::string initials;
  bool starts_word = true;
  for (const char c : name) {
    if (starts_word) {
      initials += c;
    }
    starts_word = kBetweenWords.find(c) != std::string_view::npos;
  }
  return initials;
}

// Whether the shorter is the longer one with letters left out within: bf16 of bfloat16.
bool is_shortened(std::string_view shorter, std::string_view longer) {
  constexpr std::size_t kShortest = 4;
  if (shorter.size() < kShortest || shorter.size() >= longer.size() ||
      !same_letter(shorter.back(), longer.back()) ||
      !same_letter(shorter.front(), longer.front())) {
    return false;
  }
  std::size_t found = 0;
  for (const char c : longer) {
    found += found < shorter.size() && same_letter(c, shorter[found]) ? 1U : 0U;
  }
  return found == shorter.size();
}

// Whether one is a short form of the other.
bool is_short_form(std::string_view name, std::string_view candidate) {
  constexpr std::size_t kShortest = 3;
  const std::string initials = initials_of(candidate);
  return (initials.size() > 1 && same_letters(name, initials)) ||
         (name.size() >= kShortest && begins_with(candidate, name)) ||
         is_shortened(name, candidate) || is_shortened(candidate, name);
}

// "h100" is the beginning of "h100_sxm": the candidates that go on at a new word, the shortest
// first.
std::vector<std::string> with_beginning(std::string_view name,
                                        std::span<const std::string> candidates) {
  std::vector<std::string> longer;
  for (const std::string& candidate : candidates) {
    if (!name.empty() && candidate.size() > name.size() && begins_with(candidate, name) &&
        kBetweenWords.find(candidate[name.size()]) != std::string_view::npos) {
      longer.push_back(candidate);
    }
  }
  std::ranges::stable_sort(longer, {}, &std::string::size);
  return longer;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = static_cast<int>(i + j);
        continue;
      }
      const int substitution = distance[i - 1][j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1])) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestName = 64;
  if (name.size() > kLongestName) {
    return {};
  }
  for (const std::string& candidate : candidates) {
    if (same_letters(name, candidate)) {
      return candidate;
    }
  }
  if (const std::vector<std::string> longer = with_beginning(name, candidates); !longer.empty()) {
    return longer.front();
  }
  int best = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  if (nearest.empty()) {
    const auto whole = std::ranges::find_if(candidates, [name](const std::string& candidate) {
      return is_short_form(name, candidate);
    });
    nearest = whole == candidates.end() ? nearest : *whole;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  std::vector<std::string> longer = with_beginning(name, candidates);
  if (longer.size() > 1 && longer.size() <= kMostNamed && longer.front() == nearest) {
    std::string names;
    for (std::size_t i = 0; i < longer.size(); ++i) {
      names += (i == 0 ? "'" : i + 1 < longer.size() ? ", '" : " or '") + longer[i] + "'";
    }
    return "; did you mean " + names + "?";
  }
  return nearest.empty() ? std::string{} : "; did you mean '" + nearest + "'?";
}

}  // namespace stepcast
