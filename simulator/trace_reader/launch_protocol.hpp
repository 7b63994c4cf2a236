// SPDX-License-Identifier: Apache-2.0
// The protocol of a collective, read from how its kernel was launched.
//
// The name of NCCL's kernel tells nothing of it: ncclDevKernel_AllGather_RING_LL is the kernel of
// all protocols and algorithms of all-gather, which its arguments choose among. The threads of a
// block do (NCCL's enqueue.cc): 512 of LL, halved while the message is small and at least 96; those
// of a ring of Simple with one warp more, 544, 288 or 160. 640 are those of LL128, of a tree of
// Simple, and of every send and receive, and 256 those of RCCL whatever it does: they tell nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "stepcast/model/op.hpp"

namespace stepcast {

// How a kernel was launched; 0: not recorded.
struct KernelLaunch {
  std::int64_t blocks = 0;
  std::int64_t threads = 0;  // of a block
  bool operator==(const KernelLaunch&) const = default;
};

// Empty where the launch does not tell it.
std::optional<Protocol> protocol_of_launch(const KernelLaunch& launch);

}  // namespace stepcast
