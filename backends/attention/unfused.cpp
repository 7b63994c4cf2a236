// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/unfused.hpp"

#include <cmath>

#include "stepcast/base/real.hpp"

namespace stepcast {

double unfused_passes(const Attention& op, const UnfusedAttentionConstants& constants) {
  const bool eager = op.scores == Implementation::kEager;
  const UnfusedPasses& passes = op.sinks     ? constants.sinks
                                : op.dropout ? constants.dropout
                                : eager      ? constants.eager
                                             : constants.plain;
  return op.direction == Direction::kForward ? passes.forward : passes.backward;
}

namespace {

const UnfusedPasses& cycles_of_rows(std::int64_t keys, const RowSoftmaxCycles& cycles) {
  return keys <= 1024   ? cycles.to_1024
         : keys <= 2048 ? cycles.to_2048
         : keys <= 4096 ? cycles.to_4096
         : keys <= 8192 ? cycles.to_8192
                        : cycles.to_16384;
}

// Whether one kernel does all that lies between the products.
bool one_kernel(const Attention& op) {
  return !op.sinks && !op.dropout && op.scores == Implementation::kFused;
}

// What passes over the scores take besides the products' own math.
Seconds passes_time(const Attention& op, double scores, Seconds math,
                    const KernelContext& context) {
  const UnfusedAttentionConstants& constants = context.device.libraries.unfused_attention;
  const double passes = unfused_passes(op, constants);
  const Seconds pass = scores * Bytes(2) / context.device.hbm.achieved;
  if (!one_kernel(op)) {
    return passes * pass;
  }
  const bool forward = op.direction == Direction::kForward;
  const double of_products = forward ? 2.0 : 4.0;
  const Seconds products = Seconds(std::hypot(math.value(), of_products * pass.value()));
  const UnfusedPasses& cycles = cycles_of_rows(op.seq_kv, constants.row_softmax);
  const Seconds in_units = scores * (forward ? cycles.forward : cycles.backward) /
                           (real(context.compute_units) * context.clock);
  return products - math + max((passes - of_products) * pass, in_units);
}

}  // namespace

OpCost unfused_attention(const Attention& op, const KernelContext& context) {
  Attention full = op;
  full.causal = false;
  full.window = 0;
  const Dtype format = context.device.base_format();
  const FlopsPerCycle unit_rate = context.device.matrix_rate_of(format);
  const FlopsPerSecond rate = real(context.compute_units) * unit_rate * context.clock;
  // Products of short sequences wait for their operands.
  const Bytes operands = compulsory_bytes(op);
  const Seconds math = max(flops(full) / (context.device.achieved_gemm(format) * rate),
                           operands / context.device.hbm.achieved);
  const double scores = real(op.batch * op.heads) * real(op.seq_q * op.seq_kv);
  const Bytes bytes =
      unfused_passes(op, context.device.libraries.unfused_attention) * scores * Bytes(2);
  const Seconds memory = passes_time(op, scores, math, context);
  OpCost cost;
  cost.duration = context.launch + math + memory;
  cost.bound = math < memory ? Bound::kMemory : Bound::kCompute;
  cost.hbm = bytes + operands;
  cost.energy = kernel_energy({flops(full) / unit_rate, format, cost.hbm}, context);
  if (context.detail == Detail::kTerms) {
    cost.terms = {{"math", math}, {"memory", memory}, {"launch", context.launch}};
  }
  return cost;
}

}  // namespace stepcast
