// SPDX-License-Identifier: Apache-2.0
// Products measured while 25 collectives of four GPUs run on another stream
// (measured/h200/contention.jsonl).
#pragma once

#include "stepcast/validation/measured_kernel.hpp"

namespace stepcast {

// comm (none or a collective), gemm "8192x8192x8192", gemm_s (the mean over all calls, part of them
// after the collectives), gemm_total_s, comm_s, comm_bytes.
void read_h200_contention(KernelRow row, std::vector<MeasuredKernel>& kernels);

}  // namespace stepcast
