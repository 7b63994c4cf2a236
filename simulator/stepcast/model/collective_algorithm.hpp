// SPDX-License-Identifier: Apache-2.0
// Which algorithms there are for each collective, with their equations and sources.
//
// The symbols are those of kAlgorithmSymbols.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stepcast/model/op.hpp"

namespace stepcast {

struct AlgorithmInfo {
  CollectiveOp op;
  CollectiveAlgorithm algorithm;
  std::string_view equation;
  std::string_view source;
};

inline constexpr std::string_view kAlgorithmSymbols =
    "n ranks, g of them in each of k scale-up domains, S bytes (the full tensor), B rate of a "
    "rank\n"
    "inside its domain, O of its NICs, h and H a hop inside and between domains. Rings and trees "
    "run\n"
    "LL, LL128 or Simple, as the library picks by size or as forced.";

// Every pair that can be priced, by collective.
std::span<const AlgorithmInfo> algorithm_table();

bool has_algorithm(CollectiveOp op, CollectiveAlgorithm algorithm);  // kAuto: always

// "ring, tree": what can be forced.
std::string algorithm_names(CollectiveOp op);

}  // namespace stepcast
