// SPDX-License-Identifier: Apache-2.0
// Results of the library as the plain numbers of the public header.
#pragma once

#include "stepcast/answers.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

StepNumbers numbers_of(const Projection& projection);
StepNumbers numbers_of(const PlanNumbers& plan);

StepProjection step_of(const Projection& projection);

}  // namespace stepcast
