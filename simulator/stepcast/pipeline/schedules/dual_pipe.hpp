// SPDX-License-Identifier: Apache-2.0
// DualPipe and DualPipeV: forwards of one direction beside backwards of the other.
//
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1, and the example of its repository): half
// of the micro-batches enter at rank 0, half at rank p - 1. Rank h counted from the end nearer to
// it, H = p / 2, n micro-batches a direction; "near" ones entered at that end, "far" ones at the
// other:
//
//   2 (H - h - 1)       near F
//   h + 1               near F, far F
//   H - h - 1           far B, far W, far F
//   n - 2 H + h + 1     near F beside far B, far F beside near B
//   H - h - 1           far B, far F beside near B
//   2 (h + 1)           far B and near B in turn, those of the second half split
//   H - h - 1           W, near B split
//   h + 1               W
//
// The ranks in the middle run the first near F and far B of the fourth line one after the other.
// DualPipeV is the half of the ranks with the stages of both ends ("cut in half", Sea AI Lab): H =
// p, near is chunk 0, far chunk 1, and all micro-batches pass both.
//
// n >= 2 H fills the phases. With fewer micro-batches the order is that of n = 2 H with the missing
// ones left out; an odd one enters at rank 0.
#pragma once

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

std::vector<RankOrder> dual_pipe_orders(const PipelineShape& shape);
std::vector<RankOrder> dual_pipe_v_orders(const PipelineShape& shape);

}  // namespace stepcast
