// SPDX-License-Identifier: Apache-2.0
// What kernels of NCCL carry, told by the ranges that NCCL marks on the host with NVTX, each with a
// payload:
//
//   ncclAllGather  {"NCCL communicator ID": 17, "Message size [bytes]": 1048576}
//   ncclSend       {..., "Peer rank": 1}
//   ncclCommInitRank {"NCCL communicator ID": 17, "No. of ranks": 8, "Rank": 0, ...}
//
// A kernel is of the call in whose range it was launched. Calls between ncclGroupStart and
// ncclGroupEnd are launched when the outermost group ends: a single call is the kernel's; sends to
// and receipts from each rank of a communicator are an all-to-all; of other groups nothing is told.
// A message is what one rank gives of an all-gather, and what one gets of a reduce-scatter.
//
// Peers are ranks of the communicator, not of the world: a transfer has a size, and no ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/trace_recording.hpp"

namespace stepcast {

// The payload of a call; empty: not in it.
struct NcclPayload {
  std::optional<std::uint64_t> communicator;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> peer;
  std::optional<std::int64_t> ranks;
};

// A range on a thread of the host.
struct NcclRange {
  std::int64_t thread = 0;
  std::int64_t start = 0;  // ns
  std::int64_t end = 0;
  std::string function;  // "ncclAllGather"
  NcclPayload payload;
};

class NcclRanges {
 public:
  // Ranges in any order.
  explicit NcclRanges(std::vector<NcclRange> ranges);

  // What a kernel carries that was launched at a time (ns) on a thread. Nothing where no range of a
  // call holds it; without sizes where its payload was not kept.
  [[nodiscard]] std::optional<CollectiveCall> launched_at(std::int64_t thread,
                                                          std::int64_t time) const;

 private:
  // Calls that the end of a group launches.
  struct Group {
    std::int64_t start = 0;  // of ncclGroupEnd
    std::int64_t end = 0;
    std::vector<std::size_t> calls;  // places in ranges_
  };
  struct Thread {
    std::vector<std::size_t> calls;  // by their start
    std::vector<Group> groups;       // likewise
  };

  void add_thread_range(std::size_t place, Thread& thread, int& depth,
                        std::vector<std::size_t>& called);
  [[nodiscard]] std::int64_t ranks_of(const NcclPayload& payload) const;
  [[nodiscard]] CollectiveCall carried(const NcclRange& range) const;
  [[nodiscard]] std::optional<CollectiveCall> carried(const Group& group) const;
  [[nodiscard]] std::optional<CollectiveCall> exchange(const Group& group) const;

  std::vector<NcclRange> ranges_;  // by their start
  std::map<std::int64_t, Thread> threads_;
  std::map<std::uint64_t, std::int64_t> ranks_;  // of communicators
};

// Whether a text is that of a range of NCCL that this reads.
bool is_nccl_range(std::string_view text);

}  // namespace stepcast
