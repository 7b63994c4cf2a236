// SPDX-License-Identifier: Apache-2.0
// The error to expect of a projection: that of measured runs on the same GPU and of the same family
// of models, none of which a constant was fitted to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepcast/graph/model_spec.hpp"

namespace stepcast {

struct ExpectedError {
  std::string gpu;
  std::string family;     // dense, moe or mla
  std::int64_t runs = 0;  // held out; 0: nothing is known
  double median = 0.0;    // of |predicted / measured - 1|
  double p90 = 0.0;
};

// mla: multi-head latent attention, with experts or without; else moe or dense.
std::string_view accuracy_family(const ModelSpec& model);

// "+-9 % (median of 23 held-out runs on h100_sxm, dense; 90 % within 21 %)"
std::string expected_error_text(const ExpectedError& error);

}  // namespace stepcast
