// SPDX-License-Identifier: Apache-2.0
// Which layers and which tensors of a layer recomputation gives up, and what runs again for them.
//
// selective_op    PyTorch's policy in torchtitan: of a layer's products the 1st, 3rd, 5th ... keep
//                 their result, and so do attention, reduce-scatters and all-to-alls
// memory_budget   b between 0 and 1, as torch.compile's activation_memory_budget: of what a layer
//                 saves beside its input, the share b stays. A greedy knapsack gives up the tensors
//                 that are cheapest to compute again for each byte, by
//                 cost = FLOPs + kFlopsPerByte * bytes moved of the operator that makes them;
//                 results of collectives stay
#pragma once

#include <vector>

#include "stepcast/parallel/activation_inventory.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {

// What moving a byte costs beside a FLOP: the ratio of matrix rate and memory bandwidth of GPUs
// today (FLOP/B; H100 989 / 3.35 = 295, MI300X 1307 / 5.3 = 247, B200 2250 / 8 = 281).
inline constexpr double kFlopsPerByte = 280.0;

// Whether the recipe picks tensors one by one (selective_op, memory_budget).
bool chooses_tensors(const RecomputeSpec& recompute);
// What a layer keeps then.
std::vector<SavedTensor> chosen_tensors(const ExpansionContext& context, LayerKind kind);
// The operators of `forward` that run again for what is not kept.
OpList rerun_for_choice(const ExpansionContext& context, LayerKind kind, const OpList& forward);

// What full recomputation of a layer runs again: all of it, or without what follows the last tensor
// that backward needs, where the software stops there.
OpList rerun_in_full(const ExpansionContext& context, LayerKind kind, const OpList& forward);

// How many layers of each kind of stage `index` (in the order of stage_kinds) are recomputed in
// full.
std::vector<std::int64_t> recomputed_layers(const ExpansionContext& context, std::size_t index);
// The same of a stage whose first layer is `first` and whose kinds are known, into `again`.
void count_recomputed_layers(const ExpansionContext& context, std::int64_t first,
                             const StageContent& content, const std::vector<KindCount>& kinds,
                             std::vector<std::int64_t>& again);

}  // namespace stepcast
