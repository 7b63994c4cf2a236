// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/unfused.hpp"

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
  const Seconds memory = bytes / context.device.hbm.achieved;
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
