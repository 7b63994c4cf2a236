// SPDX-License-Identifier: Apache-2.0
// A scaling curve as text, JSON and CSV: a row for each number of GPUs, and beside its rate what
// each cause takes of the rate of the smallest one.
//
//     GPUs  global batch  tokens/s/GPU      80 % interval  step time  lost  hops  slowest GPU
//     others
//       64           128       1,105.0  1,002.3 to 1,203.4    14.83 s     -     -            - -
//      128           256       1,097.2    994.1 to 1,194.0    14.94 s  0.7 %  0.3 %     0.3 %   0.1
//      %
//
// Text has a column of a cause that takes or gives a half per mille of the rate at some size; the
// others are added up. JSON has all of them, and of each size whether it can run and the verdict on
// its memory. CSV has a line for each size and cause.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "stepcast/result/scaling_curve.hpp"

namespace stepcast {

std::string to_text(const ScalingCurve& curve);
nlohmann::ordered_json to_json(const ScalingCurve& curve);
std::string to_csv(const ScalingCurve& curve);

// Whether any size can run.
bool any_feasible(const ScalingCurve& curve);

}  // namespace stepcast
