// SPDX-License-Identifier: Apache-2.0
// Plans of a site that are refused for what their neighbours are refused for: most plans of a large
// space ask for degrees that do not divide, and all that ask for the same degrees with the same
// recipe have the same reason (settle/settle_plan.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// Where plans with the same degrees and recipe stand; the same place for all of them.
class DegreePlaces {
 public:
  explicit DegreePlaces(const SweepSpace& space);

  // How many there are in a site. 0: too many to be kept.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t of(std::int64_t index) const {
    std::size_t place = 0;
    for (const Axis& axis : axes_) {
      place = place * axis.size + static_cast<std::size_t>(index / axis.stride) % axis.size;
    }
    return place;
  }

 private:
  struct Axis {
    std::int64_t stride = 1;
    std::size_t size = 1;
  };
  std::vector<Axis> axes_;
  std::size_t count_ = 0;
};

// What is known of the places of one site.
class DegreeRefusals {
 public:
  explicit DegreeRefusals(const DegreePlaces& places)
      : places_(&places), known_(places.count(), kUnknown) {}

  // The number of the reason that the plan was refused for, as it was kept; negative where none is
  // known.
  [[nodiscard]] int of(std::int64_t index) const {
    return known_.empty() ? kUnknown : known_[places_->of(index)];
  }
  void keep(std::int64_t index, int reason) {
    if (!known_.empty()) {
      known_[places_->of(index)] = static_cast<std::int8_t>(reason);
    }
  }

 private:
  static constexpr std::int8_t kUnknown = -1;

  const DegreePlaces* places_;
  std::vector<std::int8_t> known_;
};

}  // namespace stepcast
