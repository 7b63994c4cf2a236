// SPDX-License-Identifier: Apache-2.0
// How far the prices of operators follow the numbers of profiles.
//
// Each number is moved by a millionth of itself and the operators are priced again; what their
// terms then take more is the slope. Nothing says beside a model which numbers it reads, so nothing
// that is said can fall behind the model. Numbers are moved together first, each by a little more
// than the one before so that no two of them undo each other, and only those halves are taken apart
// that move a price. Operators of a kind mostly follow the same numbers: where moving all the
// others leaves a price where it is, only those are looked at.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "stepcast/cost/op_cost.hpp"
#include "stepcast/hardware/placed_constants.hpp"

namespace stepcast {

// What a price changes by, over the share that a number changes by: times 0.01 it is what one per
// cent more of the number costs.
struct PriceSlope {
  std::size_t number = 0;      // place among the numbers
  std::vector<Seconds> terms;  // of each term of the price; of the whole where it has none
  Joules energy;

  [[nodiscard]] Seconds duration() const;
};

struct SlopedPrice {
  OpCost cost;
  std::vector<PriceSlope> numbers;  // that the price follows, in their order
  PriceSlope clock;                 // the same of the clock of the operator
};

// The price, with its terms, of the operator at a place, at a share of its own clock. It is asked
// for while numbers are moved.
using PriceOf = std::function<OpCost(std::size_t op, double clock_share)>;

// Of operators of these kinds, which are numbers that the caller gives them, in their order. The
// numbers of the profiles have their values again when it returns.
std::vector<SlopedPrice> price_slopes(std::span<const std::size_t> kinds, const PriceOf& price,
                                      std::span<const PlacedNumber> numbers);

}  // namespace stepcast
