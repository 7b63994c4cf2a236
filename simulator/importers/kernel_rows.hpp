// SPDX-License-Identifier: Apache-2.0
// Kernels measured by programs/kernels.py and its relatives on hosts of H100 and H200, and
// operators with a measured time.
//
// The programs replay captured graphs of calls, except where a comment says so.
#pragma once

#include "importers/kernel_formats.hpp"

namespace stepcast {

// An operator line (operators/operator_line.hpp) with `gpu` and `s`, the seconds that it took;
// `group`, `source`, `clock_mhz` and `watts` if given. Other keys are remarks.
void read_timed_operator(ForeignRow& row, std::vector<Record>& records);

// m, n, k, dtype, model, state, s; `kind` is the pass.
void read_measured_gemm(ForeignRow& row, std::vector<Record>& records);
// groups, m_total, counts, n, k, dtype, state, s; `kind` is the pass.
void read_measured_grouped_gemm(ForeignRow& row, std::vector<Record>& records);
// impl, batch, seq, heads, kv_heads, d_qk, d_v, causal, fwd_s, bwd_s: single calls.
extern const KernelTable kAttentionRows;
// The same from captured graphs at the power limit, with R calls a graph.
extern const KernelTable kAttentionInGraphsRows;
// op, rows, cols, s and sometimes bwd_s.
extern const KernelTable kMemoryBoundRows;
// The same GEMM for 2.5 s: m, n, k, dtype, s; smi begins with the clock in MHz.
extern const KernelTable kSustainedGemmRows;
// A GEMM in bursts that fill `duty` of the time: m, n, k, dtype, data, s, clock_mhz, watts.
extern const KernelTable kGemmInBurstsRows;
// One tiny kernel: op eager_add or graph_add, s.
void read_launch(ForeignRow& row, std::vector<Record>& records);
// op, ranks, bytes, s: launched by the host one after the other.
extern const KernelTable kCollectiveRows;
// comm (none or a collective), gemm "8192x8192x8192", gemm_s (the mean over all calls, part of them
// after the collectives), gemm_total_s, comm_s, comm_bytes: products while 25 collectives of four
// GPUs run on another stream.
void read_gemm_beside_collectives(ForeignRow& row, std::vector<Record>& records);
// What the host spends on a call (programs/host.py): skipped by name, since a software set states
// the host's time of a kernel of a layer and not of a call by itself.
void read_host_time(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
