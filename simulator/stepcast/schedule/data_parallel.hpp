// SPDX-License-Identifier: Apache-2.0
// What data parallelism adds to a step: gathers and reductions of parameters and gradients, and the
// optimizer.
//
//   ZeRO 0  all-reduce of gradients once a step
//   ZeRO 1  reduce-scatter of gradients and all-gather of parameters once a step
//   ZeRO 2  reduce-scatter for every micro-batch, all-gather once a step
//   ZeRO 3  with resharding: all-gather forward and again backward, reduce-scatter backward, for
//   every
//           micro-batch; without it gathers and scatters once a step. Software that wraps
//           recomputation around the gather does the forward gather twice. Hybrid sharding
//           all-reduces the shards of gradients between replicas once a step.
// Experts do the same over their own group. Where two pipeline ranks hold the same stages
// (DualPipe) they all-reduce what they keep of the gradients once a step.
#pragma once

#include "stepcast/graph/op.hpp"
#include "stepcast/parallel/layer_expansion.hpp"

namespace stepcast {

// Collectives of one stage for every micro-batch.
struct MicroBatchCollectives {
  OpList forward;
  OpList backward;
};
MicroBatchCollectives micro_batch_collectives(const ExpansionContext& context, std::size_t stage);

// Collectives of one pipeline rank once a step.
OpList step_collectives(const ExpansionContext& context, std::int64_t rank);

// The optimizer kernels of one pipeline rank.
OpList optimizer_ops(const ExpansionContext& context, std::int64_t rank);

// All-gathers of one layer's parameters for one micro-batch.
std::int64_t parameter_gathers(const ParallelPlan& plan, const TrainingRecipe& training,
                               const SoftwareSpec& software);

}  // namespace stepcast
