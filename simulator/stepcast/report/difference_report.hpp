// SPDX-License-Identifier: Apache-2.0
// Two explanations against each other, as text, JSON and CSV: A is the first, B the second.
//
//   GPU-us a token              A          B    B less A
//   gemm                   612.40     901.33     +288.93
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/difference.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// Where one of them has no time, both are described, with the reasons, and nothing is compared.
std::string difference_to_text(const Explanation& first, const Explanation& second);
nlohmann::ordered_json difference_to_json(const Explanation& first, const Explanation& second);
std::string difference_to_csv(const Explanation& first, const Explanation& second);

}  // namespace stepcast
