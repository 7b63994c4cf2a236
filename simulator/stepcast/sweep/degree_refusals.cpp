// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/degree_refusals.hpp"

#include <algorithm>

#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kMostPlaces = std::size_t{1} << 22;  // a byte each

bool matters(const SweepAxis& axis) {
  return std::ranges::any_of(axis.keys, [](const std::string& key) {
    return key.starts_with("training.") || std::ranges::find(kDegreeKeys, key) != kDegreeKeys.end();
  });
}

}  // namespace

DegreePlaces::DegreePlaces(const SweepSpace& space) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    if (matters(space.axes()[i])) {
      axes_.push_back({space.stride(i), static_cast<std::size_t>(space.axes()[i].size())});
      count = std::min(kMostPlaces + 1, count * axes_.back().size);
    }
  }
  count_ = count <= kMostPlaces ? count : 0;
}

}  // namespace stepcast
