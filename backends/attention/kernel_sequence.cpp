// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/kernel_sequence.hpp"

#include "stepcast/base/real.hpp"

namespace stepcast {

OpCost sequence_cost(const KernelSequence& sequence, const KernelContext& context) {
  const DeviceSpec& device = context.device;
  const MemoryConstants& memory = device.kernels.memory;
  const auto units = real(context.compute_units);
  const BytesPerSecond rate =
      min(sequence.hbm_share * device.hbm.achieved, units * memory.unit_bandwidth);
  OpCost cost;
  cost.launches = 0.0;
  Seconds longest;
  KernelActivity activity{0.0, sequence.dtype, {}};
  for (const SequencedKernel& kernel : sequence.kernels) {
    const Seconds moved = kernel.hbm / rate;
    const Seconds body = memory.ramp + max(kernel.units, moved);
    cost.launches += kernel.launches;
    cost.duration += kernel.launches * context.launch + body;
    activity.matrix_cycles += kernel.matrix_cycles;
    activity.hbm += kernel.hbm;
    if (body > longest) {
      longest = body;
      cost.bound = kernel.units < moved ? Bound::kMemory : kernel.unit_bound;
    }
    if (context.detail == Detail::kTerms) {
      cost.terms.push_back({kernel.name, body});
    }
  }
  const Seconds launches = cost.launches * context.launch;
  cost.bound = launches > longest ? Bound::kLatency : cost.bound;
  cost.hbm = activity.hbm;
  cost.energy = kernel_energy(activity, context);
  if (context.detail == Detail::kTerms) {
    cost.terms.push_back({"launch", launches});
  }
  return cost;
}

}  // namespace stepcast
