// SPDX-License-Identifier: Apache-2.0
// Orders in which a rank runs each backward beside the forward that follows it.
//
// Megatron-LM (overlap_moe_expert_parallel_comm; combined_1f1b.py, get_pp_rank_microbatches): one
// forward more than otherwise comes before the first backward, so that forward and backward of a
// pair are of different micro-batches and neither needs the other; the last backwards run alone.
// Without a pipeline the first forward and the last backward do. A rank holds as many
// micro-batches as without pairs, and a layer more: backward frees layer by layer what the forward
// beside it takes.
#pragma once

#include <vector>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/plan/software_spec.hpp"

namespace stepcast {

// How the passes of a rank follow each other.
enum class PassOrder {
  kOneByOne,
  kPaired,  // each backward that a forward follows directly runs beside it
};

// The order of a plan's ranks: paired where the software pairs passes of a schedule that allows it,
// and parameters are not gathered for every pass.
PassOrder pass_order(const ParallelPlan& plan, const ModelSpec& model,
                     const SoftwareSpec& software);

// The order of a rank with each backward that a forward follows directly beside it.
RankOrder paired_order(const RankOrder& order);

// The orders of all ranks.
std::vector<RankOrder> pipeline_orders(Schedule schedule, const PipelineShape& shape,
                                       PassOrder order);

}  // namespace stepcast
