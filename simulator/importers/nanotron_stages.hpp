// SPDX-License-Identifier: Apache-2.0
// How nanotron divides a Llama among pipeline ranks, as a text of plan.stage_layout.
//
//   cost(layer) = 4 h^2 + 3 h f,  cost(head) = h V,  others 0
//
// Blocks go to a rank until their cumulative cost is above the rank's part of the whole; the block
// that crosses it stays (src/nanotron/models/base.py, llama.py). 16 layers with a head that costs
// as much as four of them, on four ranks: Et*6|t*5|t*5|L.
//
// The loss is taken to lie with the head on the last rank. Where the head is so large that nothing
// is left for the ranks after it, nanotron leaves those empty and these have the head.
#pragma once

#include <cstdint>
#include <string>

#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

std::string nanotron_stages(const ModelSpec& model, std::int64_t ranks);

}  // namespace stepcast
