// SPDX-License-Identifier: Apache-2.0
// Why a dispatcher cannot carry the exchange of a plan whose degrees are settled.
//
//   deepep             its kernels see 8 GPUs over NVLink: at most 8 ranks, or a multiple of 8; a
//                      receive buffer for the worst case exists within a domain only
//   sonic              data to expert parallel and back, without expert tensor parallelism; peers
//                      read each other's memory, so beyond one domain only node_dedup remains
//   minimal_async_ep   ranks write into their peers' memory, within one scale-up domain; the shared
//                      receive buffer is overwritten, so the experts' forward pass is recomputed
#pragma once

#include <string>
#include <vector>

#include "stepcast/parallel/parallel_plan.hpp"
#include "stepcast/parallel/training_recipe.hpp"

namespace stepcast {

std::vector<std::string> exchange_reasons(const ParallelPlan& plan, const RecomputeSpec& recompute);

}  // namespace stepcast
