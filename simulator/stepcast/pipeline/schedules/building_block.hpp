// SPDX-License-Identifier: Apache-2.0
// Schedules of split backwards that repeat one building block: ZB-H1, ZB-H2, ZBV, V-Half, V-Min.
//
// Qi et al. (arXiv 2401.10241 for ZB-H1 and ZB-H2, arXiv 2405.15362 for the V shapes) draw a
// schedule as one micro-batch's way down and up the ranks with a fixed delay from rank to rank on
// each leg, repeated every 3 units (6 with two chunks), tasks being one unit long. The delays set
// how long a micro-batch lives on a rank, and so how many are in flight:
//
//   schedule  delay on each leg       micro-batches in flight at most
//   ZB-H1     F 1, B 2                p
//   ZB-H2     F 1, B 5                2 p - 1
//   ZBV       F 1, F' 5, B' 1, B 5    p
//   V-Half    F 1, F' 2, B' 1, B 2    floor((p + 2) / 2)
//   V-Min     F 1, F' 1, B' 1, B 1    floor((p + 4) / 3)
//
// (F' and B' of the second chunk.) Every rank takes its forwards and input gradients by the times
// of this block, as early as their inputs are there. When the next one has to wait, a later one
// that is ready goes first; forwards of the first chunk, which take the memory that others wait
// for, only with V-Half on an even number of ranks and while less than half of it is taken. Else a
// gradient of weights fills the gap. One of these also goes before a forward that would exceed the
// memory above; that limit is kept except that a rank without a gradient of weights to run goes on.
#pragma once

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

std::vector<RankOrder> zb_h1_orders(const PipelineShape& shape);
std::vector<RankOrder> zb_h2_orders(const PipelineShape& shape);
std::vector<RankOrder> zb_v_orders(const PipelineShape& shape);
std::vector<RankOrder> v_half_orders(const PipelineShape& shape);
std::vector<RankOrder> v_min_orders(const PipelineShape& shape);

}  // namespace stepcast
