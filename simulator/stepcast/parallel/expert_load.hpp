// SPDX-License-Identifier: Apache-2.0
// How evenly a routing fills the ranks that hold the experts, and to how many of them a token goes.
//
//   imbalance = rows of the most loaded rank / mean rows of a rank
//   destinations D = distinct ranks that a token's k experts lie on, on average
//   uniform: D = W (1 - C(E - E/W, k) / C(E, k)), k distinct experts, all sets alike
//   group-limited: the same within the experts of the groups taken; the sets of groups are alike
//   round robin: counted, token by token, until the pattern repeats
//   Zipf, counts: expert i is taken with probability pi_i = min(1, c p_i), whose sum is k, and
//     independently of the others: D = sum over ranks of 1 - prod (1 - pi_i)
//
// Expert i lies on rank i W / E. Expectations, not the spread of one micro-batch.
#pragma once

#include <cstdint>

#include "stepcast/graph/expert_exchange.hpp"

namespace stepcast {

// `topk` of `experts` experts, which `ranks` ranks hold in equal parts; `tokens` of each rank.
struct ExpertPlacement {
  std::int64_t experts = 1;
  std::int64_t topk = 1;
  std::int64_t ranks = 1;
  std::int64_t tokens = 1;
};

double expert_imbalance(const Routing& routing, const ExpertPlacement& placement);
double destinations(const Routing& routing, const ExpertPlacement& placement);

}  // namespace stepcast
