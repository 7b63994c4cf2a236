// SPDX-License-Identifier: Apache-2.0
// Kernels measured on one host of H200 (measured/h200/*.jsonl), and operators with a measured time.
//
// The programs that took them replay captured graphs of calls, except where a comment says so.
#pragma once

#include "stepcast/validation/measured_kernel.hpp"

namespace stepcast {

// An operator line (cost/operator_line.hpp) with `gpu` and `s`, the seconds that it took; `group`,
// `clock_mhz` and `watts` if given.
void read_timed_operator(KernelRow row, std::vector<MeasuredKernel>& kernels);

// m, n, k, dtype, model, state, s; `kind` is the pass.
void read_h200_gemm(KernelRow row, std::vector<MeasuredKernel>& kernels);
// groups, m_total, counts, n, k, dtype, state, s; `kind` is the pass.
void read_h200_grouped_gemm(KernelRow row, std::vector<MeasuredKernel>& kernels);
// impl, batch, seq, heads, kv_heads, d_qk, d_v, causal, fwd_s, bwd_s.
void read_h200_attention(KernelRow row, std::vector<MeasuredKernel>& kernels);
// op, rows, cols, s and sometimes bwd_s.
void read_h200_memory_bound(KernelRow row, std::vector<MeasuredKernel>& kernels);
// The same GEMM for 2.5 s: m, n, k, dtype, s; smi begins with the clock in MHz.
void read_h200_sustained(KernelRow row, std::vector<MeasuredKernel>& kernels);
// A GEMM in bursts that fill `duty` of the time: m, n, k, dtype, data, s, clock_mhz, watts.
void read_h200_duty(KernelRow row, std::vector<MeasuredKernel>& kernels);
// One tiny kernel: op eager_add or graph_add, s.
void read_h200_launch(KernelRow row, std::vector<MeasuredKernel>& kernels);
// op, ranks, bytes, s.
void read_h200_collective(KernelRow row, std::vector<MeasuredKernel>& kernels);

}  // namespace stepcast
