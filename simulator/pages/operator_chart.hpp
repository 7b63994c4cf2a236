// SPDX-License-Identifier: Apache-2.0
// The operators of a step for a roofline: what each computes and must move, and the peaks that
// bound them. As JSON:
//
//   {"memory_bytes_per_s": 3.35e12, "clock_mhz": 1374.4,
//    "peaks": [{"dtype": "bf16", "flop_per_s": 7.6e14}],
//    "operators": [{"operator": 0, "flops": 3.6e12, "bytes": 1.0e9}, ...]}
//
// `operator` is the place in `operators` of `stepcast explain --format json`; those that compute
// nothing by matrix units or vectors, communication and copies, are left out.
#pragma once

#include <nlohmann/json.hpp>

#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/explanation.hpp"

namespace stepcast {

// Null if the step has no price.
nlohmann::ordered_json operator_chart(const Experiment& experiment, const Explanation& explanation);

}  // namespace stepcast
