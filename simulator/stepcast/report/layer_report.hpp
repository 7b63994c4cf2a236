// SPDX-License-Identifier: Apache-2.0
// One layer by itself, as SonicMoE's profiler prints one: what each primitive of the exchange takes
// and which one runs, what is kept for backward, forward and backward, the same work on one GPU,
// and what of the exchange is not hidden.
//
//   exposed    the ranks' time less that of one GPU with a rank's tokens
//   scaling    the time of one GPU with all tokens over the ranks' time, and that over the ranks
//   TFLOP/s    of the products of the experts or of the layer, forward once and backward twice,
//              without the router's and without recomputation
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/layer_study.hpp"

namespace stepcast {

std::string to_text(const LayerStudy& study);
nlohmann::ordered_json to_json(const LayerStudy& study);

}  // namespace stepcast
