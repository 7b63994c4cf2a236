// SPDX-License-Identifier: Apache-2.0
// What the kernel of coalesced transfers carries.
//
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
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace_recording.hpp"

namespace stepcast {

// A transfer that the host called.
struct CalledTransfer {
  double start = 0.0;
  std::int32_t collective = 0;  // place in TraceRecording::collectives
};

// Where the host launched what it had called.
struct CoalescedLaunch {
  double start = 0.0;
  double end = 0.0;
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
