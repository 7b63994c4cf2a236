// SPDX-License-Identifier: Apache-2.0
// Chunked linear attention as the kernels of flash-linear-attention.
//
//   time = sum over kernels of  launches + ramp + max(units, bytes / (hbm_share * HBM rate))
//   units of a kernel over all chunks at once
//     = chunks * heads * batch * cycles of a chunk / units
//     cycles of a chunk = products / (matrix rate * chunk_efficiency) + inverses * inverse_cycles
//                         + values that a channel's decay scales * decay_cycles
//   units of a kernel from chunk to chunk (the state, its gradient)
//     = chunks * turns * products of a step * (step_cycles + d_k * step_channel_cycles),
//       turns of heads * batch * d_v / 64 groups over the units, at least as above
//
// Products with states in the kernel of gradients of keys reach gradient_efficiency: it spills its
// registers. Products within a chunk are computed whole, whatever their triangle leaves. The state
// of a head is a chain of as many steps as there are chunks: with few heads it takes as long as
// with one for each unit.
//
// Measured on one H100 with Triton 3.6 (tests/validation/linear_attention_kernels.jsonl); whole
// operators of shapes held back within 6 % on average. Assumes chunks of 64 and heads of 64 to 128,
// which were measured, and the library's own choice of tiles. Wrong for other libraries' kernels
// (FlashKDA, cuDNN), for packed sequences of many lengths, where the host cannot launch fast
// enough, and by half for sums over the heads that share a key, which PyTorch's reduction makes.
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
  const double rate = device.matrix_rate_of(op.dtype).value();
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
  const auto units = real(context.compute_units);
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
