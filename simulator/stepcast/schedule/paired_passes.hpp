// SPDX-License-Identifier: Apache-2.0
// One forward and one backward side by side, layer by layer: the exchanges of one run beside the
// computation of the other.
//
// Layer i of the forward pass of a stage runs with layer i of the backward pass of the same stage
// or of another one on the rank, as two programs on one set of streams (Megatron's
// overlap_moe_expert_parallel_comm; DualPipe, arXiv 2412.19437, section 3.2.1). Both end before the
// next two begin, and what the longer pass has left runs by itself. A pair is never worse than its
// two passes one after the other, which the software could run instead.
#pragma once

#include <optional>
#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// Whether passes of the plan run in pairs: its schedule pairs them, or the software does.
bool pairs_passes(const ExpansionContext& context);

// What the pair saves over `forward` and `backward` one after the other; empty where parameters are
// gathered for every micro-batch, which nothing overlaps in pairs.
std::optional<TimeBreakdown> saved_by_pair(const StageProgram& forward_stage,
                                           const PassTime& forward,
                                           const StageProgram& backward_stage,
                                           const PassTime& backward);

// The spans of the pair, layer by layer, and how long it takes; empty like saved_by_pair.
struct PairSpans {
  std::vector<StreamSpan> spans;
  Seconds duration;
};
std::optional<PairSpans> spans_of_pair(const StageProgram& forward_stage,
                                       const StageProgram& backward_stage);

}  // namespace stepcast
