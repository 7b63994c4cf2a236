// SPDX-License-Identifier: Apache-2.0
// Copies of the most loaded experts in spare places of other ranks, which take a part of their
// rows.
//
// Each rank holds E / W experts of its own and `spare` places. The planner sees the loads of a
// layer before it moves rows (Megatron-LM's MoE ECHO, pull request 2368; UltraEP, arXiv
// 2606.04101): while a rank lies above the mean and another one with a free place below it, the
// heaviest expert of the fullest rank gets a copy in the emptiest one, which takes
//
//   min(load of the expert, fullest rank - mean, mean - emptiest rank)
//
// of its rows. The places of a rank follow its own experts, so that place i lies in part
// i W / (E + W spare). Assumes that the planner knows the loads exactly, and that a token's choices
// of an expert and of its copy are independent, though a token takes one of the two: the number of
// distinct ranks of a token comes out too high by what it would take both.
#pragma once

#include "stepcast/graph/routing.hpp"

namespace stepcast {

struct PlacedExperts {
  Routing routing;               // over all places, rank by rank
  std::int64_t places = 1;       // E + W spare
  std::int64_t most_copies = 0;  // of the rank that holds most copies
};

// `routing` as it is where no place is spare.
PlacedExperts place_copies(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                           std::int64_t spare);

}  // namespace stepcast
