// SPDX-License-Identifier: Apache-2.0
// Operators of public profiler traces (measured/published/trace_operators.csv).
//
// A row has gpu, category, op, B, M, N, K, trans, dtype, input_dims (a list of shapes),
// kernel_us_median or kernel_us_min, tflops_per_s and extra. Times are those of the kernel alone.
//   GEMM        trans says how the operands lie: NT is a forward, NN a dgrad, TN a wgrad
//   SDPA_fwd    shapes of q, k, v from input_dims; causal if the row's own FLOP count is half
//   NORM        layer and RMS norms over the dimensions of their weight
//   collective  the size of the group and the elements from extra; the shortest time, since others
//               contain waiting
// Rows that cannot be priced are skipped with the reason. One shape on one GPU is one kernel.
#pragma once

#include "importers/foreign_row.hpp"

namespace stepcast {

void read_trace_operator(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
