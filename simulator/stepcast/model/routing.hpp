// SPDX-License-Identifier: Apache-2.0
// Where the experts of a token lie: of E experts in `parts` equal contiguous parts (ranks, or nodes
// of ranks), how many parts a token that chooses K of them reaches, and how the load is shared.
//
// e = E / parts experts a part. P(miss) is the probability that a token has no expert in a part.
//   uniform       P(miss) = C(E-e, K) / C(E, K) = prod_{i<K} (E-e-i) / (E-i)
//   independent   P(miss) = (1 - 1/parts)^K: K draws with replacement (SonicMoE's profiler)
//   group_limited The groups of a token are those of its best experts. Best first, those are
//                 a uniform sequence until the last allowed group appears, and uniform over the
//                 allowed groups from then on; P(miss) follows by counting sequences. A token
//                 reaches min(groups of a uniform choice, allowed groups) groups.
//   round_robin_forced  Tokens are counted: t takes experts tK ... tK+K-1 modulo E on every rank.
//   zipf, counts  Successive draws without replacement, weight i^-alpha or the weights whose
//                 inclusion probabilities are K counts_i / sum; P(miss) = prod_j (1 - s / (s +
//                 M_j)), s the part's weight and M_j the others' mean weight left after j draws
//                 among them (weighted_choice.hpp).
//   learned       The same with loads of a log-normal distribution whose fullest expert has
//                 1 + max_violation times the mean (MaxVio, arXiv 2408.15664), spread over parts.
// Assumes expert i of E lies in part i parts / E, so that Zipf's hottest experts share a part, and
// tokens that choose independently of each other. Wrong for small T, where the most loaded part of
// a uniform routing exceeds the mean by chance, and where parts cut through groups of experts.
#pragma once

#include "stepcast/model/expert_exchange.hpp"

namespace stepcast {

// What one token means for parts of the experts (ranks, domains), on average over tokens.
struct PartLoads {
  double distinct = 1.0;     // parts that it reaches: the sum of P(hit)
  double most_hits = 1.0;    // P(hit) of the part that most tokens reach
  double most_copies = 1.0;  // (token, expert) pairs in the part that has most
};

struct ExpertChoice {
  std::int64_t experts = 1;
  std::int64_t topk = 1;
  std::int64_t tokens = 1;  // of one rank; what a forced routing counts
};

// Whether experts differ in load by more than chance.
bool is_weighted(RoutingKind kind);
// Rows that each expert expects of a thousand million tokens.
std::vector<std::int64_t> expected_loads(const Routing& routing, ExpertChoice choice);

PartLoads part_loads(const Routing& routing, ExpertChoice choice, std::int64_t parts);

// Rows that one expert may take of W ranks' tokens with a capacity factor: ceil(tokens K / E
// factor).
std::int64_t expert_capacity(std::int64_t all_tokens, std::int64_t topk, std::int64_t experts,
                             double factor);
// Share of the (token, expert) pairs that capacities leave; 1 with a factor of 0, which means none.
// Loads are the mean ones: none of a uniform routing is dropped at a factor of 1.
double kept_share(const Routing& routing, ExpertChoice choice, double capacity_factor);
// The most that is taken for a router: one expert of a thousand has everything.
inline constexpr double kLargestViolation = 1000.0;
// How uneven experts and the ranks that hold them are.
struct ExpertLoad {
  double fullest_expert = 1.0;  // rows of the fullest expert over the mean
  double fullest_rank = 1.0;    // of the fullest rank
  double kept = 1.0;            // share of the (token, expert) pairs that a capacity leaves
};
ExpertLoad expert_load(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                       double capacity_factor);
// `rows` of each of `experts` rounded up to a multiple; 0 or 1: as they are.
std::int64_t padded_rows(std::int64_t rows_of_expert, std::int64_t experts, std::int64_t multiple);

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
struct PlacedExperts {
  Routing routing;               // over all places, rank by rank
  std::int64_t places = 1;       // E + W spare
  std::int64_t most_copies = 0;  // of the rank that holds most copies
};

// `routing` as it is where no place is spare.
PlacedExperts place_copies(const Routing& routing, ExpertChoice choice, std::int64_t ranks,
                           std::int64_t spare);

}  // namespace stepcast
