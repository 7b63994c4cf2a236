// SPDX-License-Identifier: Apache-2.0
// What the constants under a projection's time are, as text and JSON:
//
//   time rests on             12.1 % measured, 71.3 % fitted, 9.2 % specified, 7.4 % assumed
//   constants
//
//     share  kind    constant                     value  file                source
//    31.2 %  fitted  gemm.matrix_efficiency.bf16  0.93   kernels/gh100.yaml  GEMMS
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/projection.hpp"

namespace stepcast {

// "12.1 % measured, 71.3 % fitted, 9.2 % specified, 7.4 % assumed constants".
std::string provenance_text(const ProvenanceShares& shares);
// {"measured": 0.121, "fitted": 0.713, ...}, every kind.
nlohmann::ordered_json provenance_to_json(const ProvenanceShares& shares);

// The report of `stepcast explain --provenance`: every constant of a projection that has shares.
std::string constants_to_text(const Projection& projection);
nlohmann::ordered_json constants_to_json(const Projection& projection);
std::string constants_to_csv(const Projection& projection);

}  // namespace stepcast
