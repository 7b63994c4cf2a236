// SPDX-License-Identifier: Apache-2.0
// Successive draws without replacement from weighted items, in the mean-field limit.
//
// Drawing one after the other with probabilities in proportion to the weights left is the order of
// independent exponential clocks with the weights as rates. At time t an item is drawn with
// probability 1 - exp(-w t); the time of the j-th draw is taken as the one at which j items are
// drawn on average. Exact for equal weights, where a part's P(miss) is the hypergeometric one; off
// by about a hundredth where a few items have most of the weight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "stepcast/model/routing.hpp"

namespace stepcast {

// Weights i^-exponent of `items`.
std::vector<double> zipf_weights(std::int64_t items, double exponent);
// Weights under which item i is drawn with probability draws counts_i / sum, at most nearly 1.
std::vector<double> weights_of_counts(const std::vector<std::int64_t>& counts, std::int64_t draws);
// Loads of `items` in parts of a million of the mean: log-normal, the fullest 1 + max_violation
// times the mean. In an order that gives every run of neighbours large and small ones.
std::vector<std::int64_t> learned_counts(std::int64_t items, double max_violation);
// Of a weighted routing: one for each expert.
std::vector<double> weights_of(const Routing& routing, ExpertChoice choice);

// Items drawn and weight left, at each time of a grid that is fine at its beginning.
struct DrawHistory {
  static constexpr std::size_t kTimes = 160;
  std::array<double, kTimes> drawn{};
  std::array<double, kTimes> left{};
};

// `draws` of the items, with what all divisions of the items into parts have in common.
class WeightedChoice {
 public:
  WeightedChoice(std::vector<double> weights, std::int64_t draws);

  // Probability of each item to be among the draws.
  [[nodiscard]] const std::vector<double>& included() const { return included_; }
  // The loads of `parts` equal contiguous parts of the items.
  PartLoads part_loads(std::int64_t parts);

 private:
  [[nodiscard]] PartLoads fine_parts(std::int64_t parts) const;

  std::vector<double> weights_;
  double draws_ = 0.0;
  double end_ = 0.0;  // the time at which `draws` items are drawn on average
  std::vector<double> included_;
  std::optional<DrawHistory> all_;  // of all items, once it is asked for
};

// The loads of weighted routings (routing.hpp), each found once for all copies of a routing.
//
// Every layer, buffer and exchange of a plan asks for the loads of one routing over the same few
// divisions of its experts, and finding them takes a few hundred exponentials an expert. A routing
// that is read shares what it found with its copies. Answers are those of WeightedChoice, bit for
// bit, whoever asked before.

// Threads may ask at the same time.
class KnownLoads {
 public:
  // The routing is a weighted one.
  PartLoads part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts);
  // Probability of each expert to be among those of a token.
  std::vector<double> included(const Routing& routing, ExpertChoice choice);

 private:
  struct Entry {
    Routing routing;  // which shares nothing itself
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    WeightedChoice choice;
    std::map<std::int64_t, PartLoads> parts{};  // by their number
  };
  Entry& entry(const Routing& routing, ExpertChoice choice);

  std::mutex asked_;
  std::list<Entry> entries_;
};

// The routing, whose copies share their loads if it is a weighted one.
Routing with_shared_loads(Routing routing);

}  // namespace stepcast
