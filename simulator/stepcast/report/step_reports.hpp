// SPDX-License-Identifier: Apache-2.0
// Reports about one step beside its projection (projection_report.hpp), as text, JSON and CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/dispatcher_map.hpp"
#include "stepcast/result/explanation.hpp"
#include "stepcast/result/layer_study.hpp"

namespace stepcast {

// The operators of a step, each with its price and why:
//
//   operator     pass  count  shape                 tile     waves     time    share          rate
//   mlp.gate_up  fwd     160  8192 x 57344 x 8192   256x128   37.5  11.2 ms   21.3 %   687 TFLOP/s
//
//   roofline = the time that no kernel beats (cost/cost_model.hpp) / predicted time
//   share    = count * time / time of all computation, the optimizer included
//
// Communication is listed before anything hides it, so that its shares come on top of 100 %.
// `detail` says whether each operator's terms are shown.
std::string to_text(const Explanation& explanation, Detail detail);
nlohmann::ordered_json to_json(const Explanation& explanation, Detail detail);
std::string to_csv(const Explanation& explanation, Detail detail);

// Two explanations against each other: A is the first, B the second.
//
//   GPU-us a token              A          B    B less A
//   gemm                   612.40     901.33     +288.93
//
// Where one of them has no time, both are described, with the reasons, and nothing is compared.
std::string difference_to_text(const Explanation& first, const Explanation& second);
nlohmann::ordered_json difference_to_json(const Explanation& first, const Explanation& second);
std::string difference_to_csv(const Explanation& first, const Explanation& second);

// What the constants under a projection's time are; every constant of a projection that has shares:
//
//   time rests on             12.1 % measured, 71.3 % fitted, 9.2 % specified, 7.4 % assumed
//   constants
//
//     share  kind    constant                     value  file                source
//    31.2 %  fitted  gemm.matrix_efficiency.bf16  0.93   kernels/gh100.yaml  GEMMS
std::string constants_to_text(const Projection& projection);
nlohmann::ordered_json constants_to_json(const Projection& projection);
std::string constants_to_csv(const Projection& projection);
// "12.1 % measured, 71.3 % fitted, 9.2 % specified, 7.4 % assumed constants".
std::string provenance_text(const ProvenanceShares& shares);
// {"measured": 0.121, "fitted": 0.713, ...}, every kind.
nlohmann::ordered_json provenance_to_json(const ProvenanceShares& shares);

// Projections of one experiment under several pipeline schedules, side by side.
//
//   bubble = waiting of the slowest rank / step;  memory: of the fullest rank
std::string schedules_to_text(const std::vector<Projection>& projections);
nlohmann::ordered_json schedules_to_json(const std::vector<Projection>& projections);
std::string schedules_to_csv(const std::vector<Projection>& projections);
// Whether any of them can run.
bool any_feasible(const std::vector<Projection>& projections);

// One layer by itself, as SonicMoE's profiler prints one: what each primitive of the exchange takes
// and which one runs, what is kept for backward, forward and backward, the same work on one GPU,
// and what of the exchange is not hidden.
//
//   exposed    the ranks' time less that of one GPU with a rank's tokens
//   scaling    the time of one GPU with all tokens over the ranks' time, and that over the ranks
//   TFLOP/s    of the products of the experts or of the layer, forward once and backward twice,
//              without the router's and without recomputation
std::string to_text(const LayerStudy& study);
nlohmann::ordered_json to_json(const LayerStudy& study);

// The fastest dispatchers as a table.
std::string to_text(const DispatcherMap& map);
nlohmann::ordered_json to_json(const DispatcherMap& map);

}  // namespace stepcast
