// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/traced_step.hpp"

#include <string>

#include "stepcast/base/error.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

[[noreturn]] void refuse(const StepContext& context) {
  throw ConfigError(
      {"training.global_batch_size", 0, 0},
      "makes " + std::to_string(context.expansion.plan.micro_batches) +
          " micro-batches a rank, whose kernels are more than the " +
          std::to_string(kMostTracedKernels) +
          " that a trace may have; give a smaller batch, all micro-batches are alike");
}

}  // namespace

PlacedStep traced_step(const StepContext& context, std::int64_t rank) {
  if (!can_be_placed(context.expansion.plan)) {
    refuse(context);
  }
  PlacedStep step = placed_step(context, rank, kMostTracedKernels);
  if (step.step > kLongestTraced) {
    throw ConfigError({"the step", 0, 0}, "takes " + readable(step.step) + ", and a trace holds " +
                                              readable(kLongestTraced) +
                                              "; give a smaller batch or faster parts");
  }
  if (step.kernels > kMostTracedKernels) {
    refuse(context);
  }
  return step;
}

}  // namespace stepcast
