// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/linear_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/attention/kernel_sequence.hpp"
#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

constexpr double kValuesOfGroup = 64.0;  // of d_v, that a workgroup of the state holds

// Matrix cycles of one chunk of one head, at the peak rate: products within a chunk are whole.
double matrix_cycles(const LinearAttention& op, const ChunkKernel& kernel,
                     const DeviceSpec& device) {
  const double c = real(op.chunk);
  const double products =
      kernel.state_products * c * real(op.d_k) * real(op.d_v) +
      c * c * (kernel.key_products * real(op.d_k) + kernel.value_products * real(op.d_v)) +
      kernel.triangle_products * c * c * c;
  const FlopsPerCycle bf16 = *device.matrix_rate[slot(Dtype::kBf16)];
  const FlopsPerCycle rate = device.matrix_rate[slot(op.dtype)].value_or(bf16);
  return 2.0 * products / rate.value();
}

SequencedKernel priced(const LinearAttention& op, const ChunkKernel& kernel,
                       const KernelContext& context) {
  const LinearAttentionConstants& constants = context.device.kernels.linear_attention;
  const auto units = static_cast<double>(context.compute_units);
  const double chains = real(op.batch) * real(op.heads);
  const double chunks = real(chunks_of(op));
  const double matrix = matrix_cycles(op, kernel, context.device);
  const double products = matrix / constants.chunk_efficiency;
  SequencedKernel priced{.name = kernel.name,
                         .hbm = bytes_moved(op, kernel),
                         .matrix_cycles = chains * chunks * matrix};
  if (kernel.sequential) {
    const double groups = chains * std::ceil(real(op.d_v) / kValuesOfGroup);
    const double latency = chunks * std::ceil(groups / units) * constants.step_cycles;
    const double busy = chains * chunks * products / units;
    priced.units = max(Seconds{}, std::max(latency, busy) / context.clock);
    priced.unit_bound = latency > busy ? Bound::kLatency : Bound::kCompute;
  } else {
    const double cycles =
        constants.chunk_cycles + kernel.inverses * constants.inverse_cycles + products;
    priced.units = chains * chunks * cycles / units / context.clock;
  }
  return priced;
}

}  // namespace

OpCost linear_attention_cost(const LinearAttention& op, const KernelContext& context) {
  std::vector<SequencedKernel> kernels;
  for (const ChunkKernel& kernel : chunk_kernels(op.rule, op.direction)) {
    kernels.push_back(priced(op, kernel, context));
  }
  return sequence_cost({kernels, op.dtype, context.device.kernels.linear_attention.hbm_share},
                       context);
}

}  // namespace stepcast
