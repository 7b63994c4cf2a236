// SPDX-License-Identifier: Apache-2.0
// What the host called that a call on the device comes from: the operator that launched it
// (trace_recording.hpp says how), and what the kernel of coalesced transfers carries.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <vector>

#include "trace_reader/trace_recording.hpp"

namespace stepcast {

// A call of the runtime or the driver.
struct TracedLaunch {
  std::int64_t correlation = 0;
  double start = 0.0;
  std::int32_t thread = 0;
  bool graph = false;  // launches a captured graph
  auto operator<=>(const TracedLaunch&) const = default;
};

// `threads` holds the places of each thread's operators in `recording.operators`.
void join_launches(std::deque<TracedLaunch> launches,
                   std::vector<std::vector<std::int32_t>> threads, TraceRecording& recording);

// --- coalesced transfers ------------------------------------------------------------------------
// PyTorch's pipelines send and receive by batch_isend_irecv, whose calls NCCL runs in one kernel.
// It is launched when the batch ends, after its calls, so that the profiler knows none of them for
// it:
//
//   c10d::send -> record_param_comms {"Collective name": "send", "Dst Rank": 1, ...}
//   nccl:coalesced -> cudaLaunchKernelExC -> kernel ncclDevKernel_SendRecv, without a size or ranks
//
// A kernel of NCCL's or RCCL's that a thread launches within `nccl:coalesced` carries the transfers
// that the thread called since the batch before. One that carries several has their size, where all
// have the same, but no ranks: it ends with the last of several others.

// A transfer that the host called.
struct CalledTransfer {
  double start = 0.0;
  std::int32_t collective = 0;  // place in TraceRecording::collectives
  auto operator<=>(const CalledTransfer&) const = default;
};

// Where the host launched what it had called.
struct CoalescedLaunch {
  double start = 0.0;
  double end = 0.0;
  auto operator<=>(const CoalescedLaunch&) const = default;
};

// Of one thread of the host.
struct ThreadTransfers {
  std::vector<CalledTransfer> called;
  std::vector<CoalescedLaunch> launches;
};

// `threads` as DeviceCall::thread counts them. Gives the kernels of transfers that carry nothing of
// their own what was called.
void join_transfers(std::vector<ThreadTransfers> threads, TraceRecording& recording);

}  // namespace stepcast
