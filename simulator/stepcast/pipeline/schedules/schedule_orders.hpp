// SPDX-License-Identifier: Apache-2.0
// The orders of every schedule; each file of a family says where it comes from.
#pragma once

#include <vector>

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

// one_f_one_b.cpp
std::vector<RankOrder> gpipe_orders(const PipelineShape& shape);
std::vector<RankOrder> one_f_one_b_orders(const PipelineShape& shape);
std::vector<RankOrder> interleaved_orders(const PipelineShape& shape);
std::vector<RankOrder> interleaved_zero_bubble_orders(const PipelineShape& shape);

// building_block.cpp
std::vector<RankOrder> zb_h1_orders(const PipelineShape& shape);
std::vector<RankOrder> zb_h2_orders(const PipelineShape& shape);
std::vector<RankOrder> zb_v_orders(const PipelineShape& shape);
std::vector<RankOrder> v_half_orders(const PipelineShape& shape);
std::vector<RankOrder> v_min_orders(const PipelineShape& shape);

// dual_pipe.cpp
std::vector<RankOrder> dual_pipe_orders(const PipelineShape& shape);
std::vector<RankOrder> dual_pipe_v_orders(const PipelineShape& shape);

}  // namespace stepcast
