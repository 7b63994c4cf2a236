// SPDX-License-Identifier: Apache-2.0
// An experiment whose numbers may be moved: a copy of what prices are made of, and each of its
// numbers with where it comes from in this experiment.
//
// What a profile says of a number does not always hold where it is used:
//   - a part on which no kernel was measured (`kernels_measured_on`) assumes what was fitted or
//     measured on another, whatever file says so;
//   - the host of a cluster that names none is assumed, and so are its numbers;
//   - what the experiment itself states is specified.
// The times of a software set's `host` are fitted, as the set says beside them.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/hardware/placed_constants.hpp"

namespace stepcast {

class MovableExperiment {
 public:
  explicit MovableExperiment(Experiment experiment);
  MovableExperiment(const MovableExperiment&) = delete;
  MovableExperiment& operator=(const MovableExperiment&) = delete;
  MovableExperiment(MovableExperiment&&) = delete;
  MovableExperiment& operator=(MovableExperiment&&) = delete;
  ~MovableExperiment() = default;

  [[nodiscard]] const Experiment& experiment() const { return experiment_; }
  [[nodiscard]] std::span<const PlacedNumber> numbers() const { return numbers_; }
  // Those of `numbers` before the host's, and the host's with those of its software.
  [[nodiscard]] std::span<const PlacedNumber> of_device() const {
    return numbers().first(first_of_host_);
  }
  [[nodiscard]] std::span<const PlacedNumber> of_host() const {
    return numbers().subspan(first_of_host_);
  }
  // The place of the peak clock, and that of a locked one, which no price reads.
  [[nodiscard]] std::size_t peak_clock() const { return peak_clock_; }
  [[nodiscard]] std::size_t locked_clock() const { return 0; }

 private:
  void add_software();

  Experiment experiment_;
  std::deque<Provenance> own_;  // of numbers that no profile holds
  Hertz locked_;
  std::vector<PlacedNumber> numbers_;
  std::size_t first_of_host_ = 0;
  std::size_t peak_clock_ = 0;
};

}  // namespace stepcast
