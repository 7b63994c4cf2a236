// SPDX-License-Identifier: Apache-2.0
// The operators of a step, each with its price and why, as text, JSON and CSV:
//
//   operator     pass  count  shape                 tile     waves     time    share          rate
//   mlp.gate_up  fwd     160  8192 x 57344 x 8192   256x128   37.5  11.2 ms   21.3 %   687 TFLOP/s
//
//   roofline = the time that no kernel beats (cost/cost_model.hpp) / predicted time
//   share    = count * time / time of all computation, the optimizer included
//
// Communication is listed before anything hides it, so that its shares come on top of 100 %.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/explanation.hpp"

namespace stepcast {

// `detail` says whether each operator's terms are shown.
std::string to_text(const Explanation& explanation, Detail detail);
nlohmann::ordered_json to_json(const Explanation& explanation, Detail detail);
std::string to_csv(const Explanation& explanation, Detail detail);

}  // namespace stepcast
