// SPDX-License-Identifier: Apache-2.0
// Schedules of whole backwards: GPipe, 1F1B and interleaved 1F1B.
//
// GPipe (Huang et al., arXiv 1811.06965): all forwards, then all backwards. 1F1B (Narayanan et al.,
// arXiv 2104.04473): rank r of p first runs min(m, p - 1 - r) forwards, then alternates one forward
// and one backward, then drains. Interleaved: the m micro-batches are taken in groups of p, the
// last of which also takes the remainder (a group smaller than p would wait for itself); a group
// passes through all v chunks of a rank before the next one starts; 2 (p - 1 - r) + (v - 1) g
// forwards warm up, g the largest group.
#pragma once

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

// The tasks of one kind in the order of the interleaved schedule, which is the same on all ranks;
// backward ones take the chunks the other way round.
RankOrder interleaved_tasks(const PipelineShape& shape, TaskKind kind);
// Micro-batches of the last of its groups.
std::int64_t largest_group(const PipelineShape& shape);

std::vector<RankOrder> gpipe_orders(const PipelineShape& shape);
std::vector<RankOrder> one_f_one_b_orders(const PipelineShape& shape);
std::vector<RankOrder> interleaved_orders(const PipelineShape& shape);

}  // namespace stepcast
