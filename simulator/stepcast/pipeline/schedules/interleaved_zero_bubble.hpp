// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B with split backwards: ZB-H1 over several chunks a rank (PyTorch's
// ScheduleInterleavedZeroBubble, torch/distributed/pipelining/schedules.py; the split is that of Qi
// et al., arXiv 2401.10241).
//
// Forwards and input gradients go in the order of interleaved 1F1B, micro-batches in groups of p.
// Rank r of p warms up with (v - 1) g + p - 1 - r forwards, g the largest group: one for each rank
// behind, where whole backwards need two. Then it alternates a forward and an input gradient, and
// from the r-th pair on the oldest gradient of weights follows each of them, so that every rank
// holds as much as the first one. What is left of the weights' gradients comes last.
#pragma once

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

std::vector<RankOrder> interleaved_zero_bubble_orders(const PipelineShape& shape);

}  // namespace stepcast
