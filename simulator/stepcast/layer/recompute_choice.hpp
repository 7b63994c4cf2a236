// SPDX-License-Identifier: Apache-2.0
// Which layers and which tensors of a layer are recomputed in backward, and which operators that
// takes: folds over the operators and the saved tensors of a layer as it was built.
//
// selective       what belongs to a named module is recomputed, and its tensors are not kept
// full            a layer keeps nothing but its input and is recomputed
// selective_op    torchtitan's policy: of a layer's products but the router's, every second from
//                 the first on keeps its result, as do attention, reduce-scatters and, by the
//                 model's list, all-to-alls. Where pieces of a layer are compiled by themselves
//                 (is_one_graph), the policy meets none of their products, nor FlexAttention, which
//                 is generated: all of them are recomputed
// memory_budget   b between 0 and 1, as torch.compile's activation_memory_budget: of what a layer
//                 saves besides its input, the share b stays. A greedy knapsack gives up the
//                 tensors that are cheapest to recompute for each byte, by cost = FLOPs +
//                 kFlopsPerByte * bytes moved of the operator that makes them; results of exchanges
//                 stay
#pragma once

#include <vector>

#include "stepcast/layer/layer_expansion.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast {

// How many FLOPs cost as much as moving a byte: the ratio of matrix rate and memory bandwidth of
// GPUs today (FLOP/B; H100 989 / 3.35 = 295, MI300X 1307 / 5.3 = 247, B200 2250 / 8 = 281).
inline constexpr double kFlopsPerByte = 280.0;

// Whether torch.compile traces a layer as one graph, and drops what nobody reads of what it
// recomputes. Eager layers, and those with eager experts between compiled pieces, are none: what
// torch.utils.checkpoint runs again ends where it stops (MemoryRules::recompute_stops_early).
bool is_one_graph(const SoftwareSpec& software, LayerKind kind);

// Sets what a layer keeps and what it recomputes, as the recipe's recomputation has it. Whether
// full recomputation is applied is up to the stage: only some of its layers may be recomputed.
void choose_recompute(const ExpansionContext& context, LayerKind kind, BlockOps& layer);

// How many layers of each kind of stage `index` (in the order of stage_kinds) are recomputed in
// full.
std::vector<std::int64_t> recomputed_layers(const ExpansionContext& context, std::size_t index);
// As recomputed_layers, for a stage whose first layer and whose kinds are known.
void count_recomputed_layers(const ExpansionContext& context, std::int64_t first,
                             const StageContent& content, const std::vector<KindCount>& kinds,
                             std::vector<std::int64_t>& recomputed);

}  // namespace stepcast
