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
struct MatrixCycles {
  double states = 0.0;  // of products with states
  double chunk = 0.0;   // of those within the chunk
};

MatrixCycles matrix_cycles(const LinearAttention& op, const ChunkKernel& kernel,
                           const DeviceSpec& device) {
  const double c = real(op.chunk);
  const double keys = kernel.key_products * real(op.d_k);
  const double values = kernel.value_products * real(op.d_v);
  const FlopsPerCycle bf16 = *device.matrix_rate[slot(Dtype::kBf16)];
  const double rate = device.matrix_rate[slot(op.dtype)].value_or(bf16).value();
  return {2.0 * kernel.state_products * c * real(op.d_k) * real(op.d_v) / rate,
          2.0 * (c * c * (keys + values) + kernel.triangle_products * c * c * c) / rate};
}

// Cycles of one unit for a chunk of a head.
double chunk_cycles(const LinearAttention& op, const ChunkKernel& kernel,
                    const MatrixCycles& matrix, const LinearAttentionConstants& constants) {
  const double of_states =
      kernel.gradient_of_keys ? constants.gradient_efficiency : constants.chunk_efficiency;
  return matrix.states / of_states + matrix.chunk / constants.chunk_efficiency +
         kernel.inverses * constants.inverse_cycles +
         kernel.scaled * real(op.chunk) * real(op.d_k) * constants.decay_cycles;
}

// Cycles of one step of a chain.
double step_cycles(const LinearAttention& op, const ChunkKernel& kernel,
                   const LinearAttentionConstants& constants) {
  return kernel.state_products *
         (constants.step_cycles + constants.step_channel_cycles * real(op.d_k));
}

SequencedKernel priced(const LinearAttention& op, const ChunkKernel& kernel,
                       const KernelContext& context) {
  const LinearAttentionConstants& constants = context.device.kernels.linear_attention;
  const auto units = static_cast<double>(context.compute_units);
  const double chains = real(op.batch) * real(op.heads);
  const double chunks = real(chunks_of(op));
  const MatrixCycles matrix = matrix_cycles(op, kernel, context.device);
  double cycles = chains * chunks * chunk_cycles(op, kernel, matrix, constants) / units;
  SequencedKernel priced{.name = kernel.name,
                         .launches = kernel.launches,
                         .hbm = bytes_moved(op, kernel),
                         .matrix_cycles = chains * chunks * (matrix.states + matrix.chunk)};
  if (kernel.sequential) {
    const double groups = chains * std::ceil(real(op.d_v) / kValuesOfGroup);
    const double latency = chunks * std::ceil(groups / units) * step_cycles(op, kernel, constants);
    priced.unit_bound = latency > cycles ? Bound::kLatency : Bound::kCompute;
    cycles = std::max(cycles, latency);
  }
  priced.units = cycles / context.clock;
  return priced;
}

}  // namespace

OpCost linear_attention_cost(const LinearAttention& op, const KernelContext& context) {
  std::vector<SequencedKernel> kernels;
  for (const ChunkKernel& kernel : kernels_of(op)) {
    kernels.push_back(priced(op, kernel, context));
  }
  return sequence_cost({kernels, op.dtype, context.device.kernels.linear_attention.hbm_share},
                       context);
}

}  // namespace stepcast
