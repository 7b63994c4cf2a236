// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace stepcast {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// "h100" is the beginning of "h100_sxm": the shortest candidate that goes on at a new word.
std::string shortest_with_beginning(std::string_view name,
                                    std::span<const std::string> candidates) {
  std::string shortest;
  for (const std::string& candidate : candidates) {
    const bool begins =
        !name.empty() && candidate.size() > name.size() &&
        std::equal(name.begin(), name.end(), candidate.begin(), same_letter) &&
        std::string_view("_-.").find(candidate[name.size()]) != std::string_view::npos;
    if (begins && (shortest.empty() || candidate.size() < shortest.size())) {
      shortest = candidate;
    }
  }
  return shortest;
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
  if (std::string longer = shortest_with_beginning(name, candidates); !longer.empty()) {
    return longer;
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
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? std::string{} : "; did you mean '" + nearest + "'?";
}

}  // namespace stepcast
