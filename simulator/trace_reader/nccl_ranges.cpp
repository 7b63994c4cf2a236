// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nccl_ranges.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace stepcast {
namespace {

constexpr double kLargestMessage = 1e15;  // of a message: beyond it is none
constexpr std::int64_t kMostRanks = 1 << 24;

// The elements of a call in messages: of each rank, or of all of them.
enum class Share { kOne, kAll };

struct KnownCall {
  std::string_view function;
  std::string_view name;  // as PyTorch's profiler calls such a collective
  Share in;
  Share out;
};
constexpr std::array kNcclCalls = {
    KnownCall{"ncclAllReduce", "allreduce", Share::kOne, Share::kOne},
    KnownCall{"ncclAllGather", "allgather", Share::kOne, Share::kAll},
    KnownCall{"ncclReduceScatter", "reduce_scatter", Share::kAll, Share::kOne},
    KnownCall{"ncclAlltoAll", "all_to_all", Share::kAll, Share::kAll},
    KnownCall{"ncclAllToAll", "all_to_all", Share::kAll, Share::kAll},
    KnownCall{"ncclBroadcast", "broadcast", Share::kOne, Share::kOne},
    KnownCall{"ncclBcast", "broadcast", Share::kOne, Share::kOne},
    KnownCall{"ncclReduce", "reduce", Share::kOne, Share::kOne},
    KnownCall{"ncclSend", "send", Share::kOne, Share::kOne},
    KnownCall{"ncclRecv", "recv", Share::kOne, Share::kOne},
};
constexpr std::string_view kSend = "ncclSend";
constexpr std::string_view kReceive = "ncclRecv";
constexpr std::string_view kGroupStart = "ncclGroupStart";
constexpr std::string_view kGroupEnd = "ncclGroupEnd";
constexpr std::string_view kInitialised = "ncclComm";  // of a communicator: Init, Split, Shrink

const KnownCall* call_of(std::string_view function) {
  const auto* const known = std::ranges::find(kNcclCalls, function, &KnownCall::function);
  return known == kNcclCalls.end() ? nullptr : known;
}

bool is_transfer(std::string_view function) { return function == kSend || function == kReceive; }

std::string hexadecimal(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value % 16]);
    value /= 16;
  } while (value > 0);
  return "0x" + text;
}

double bytes_in(const NcclPayload& payload) {
  const auto bytes = static_cast<double>(payload.bytes.value_or(0));
  return bytes > 0.0 && bytes <= kLargestMessage ? bytes : 0.0;
}

}  // namespace

bool is_nccl_range(std::string_view text) {
  return text == kGroupStart || text == kGroupEnd || text.starts_with(kInitialised) ||
         call_of(text) != nullptr;
}

NcclRanges::NcclRanges(std::vector<NcclRange> ranges) : ranges_(std::move(ranges)) {
  std::ranges::stable_sort(ranges_, {}, &NcclRange::start);
  std::map<std::int64_t, int> depths;
  std::map<std::int64_t, std::vector<std::size_t>> called;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const NcclRange& range = ranges_[i];
    if (range.payload.communicator && range.payload.ranks && *range.payload.ranks > 0 &&
        *range.payload.ranks <= kMostRanks) {
      ranks_[*range.payload.communicator] = *range.payload.ranks;
    }
    add_thread_range(i, threads_[range.thread], depths[range.thread], called[range.thread]);
  }
}

void NcclRanges::add_thread_range(std::size_t place, Thread& thread, int& depth,
                                  std::vector<std::size_t>& called) {
  const NcclRange& range = ranges_[place];
  if (range.function == kGroupStart) {
    ++depth;
  } else if (range.function == kGroupEnd) {
    depth = std::max(0, depth - 1);
    if (depth == 0) {
      thread.groups.push_back({range.start, range.end, std::exchange(called, {})});
    }
  } else if (call_of(range.function) != nullptr) {
    thread.calls.push_back(place);
    if (depth > 0) {
      called.push_back(place);
    }
  }
}

std::int64_t NcclRanges::ranks_of(const NcclPayload& payload) const {
  const auto known = payload.communicator ? ranks_.find(*payload.communicator) : ranks_.end();
  return known == ranks_.end() ? 0 : known->second;
}

CollectiveCall NcclRanges::carried(const NcclRange& range) const {
  const KnownCall& known = *call_of(range.function);
  CollectiveCall call;
  call.name = known.name;
  call.dtype = "Byte";
  call.ranks = ranks_of(range.payload);
  const double message = bytes_in(range.payload);
  const auto elements = [&](Share share) {
    return share == Share::kOne ? message : message * static_cast<double>(call.ranks);
  };
  call.in_elements = elements(known.in);
  call.out_elements = elements(known.out);
  if (range.payload.communicator && !is_transfer(range.function)) {
    call.group = hexadecimal(*range.payload.communicator);
  }
  return call;
}

// Empty where the group is none.
std::optional<CollectiveCall> NcclRanges::exchange(const Group& group) const {
  std::set<std::int64_t> to;
  std::set<std::int64_t> from;
  CollectiveCall all;
  const NcclPayload& first = ranges_[group.calls.front()].payload;
  for (const std::size_t place : group.calls) {
    const NcclRange& range = ranges_[place];
    if (!is_transfer(range.function) || !range.payload.peer ||
        range.payload.communicator != first.communicator) {
      return std::nullopt;
    }
    const bool sends = range.function == kSend;
    (sends ? to : from).insert(*range.payload.peer);
    (sends ? all.in_elements : all.out_elements) += bytes_in(range.payload);
    all.ranks = ranks_of(range.payload);
    all.group = range.payload.communicator ? hexadecimal(*range.payload.communicator) : "";
  }
  const auto ranks = static_cast<std::size_t>(all.ranks);
  if (ranks < 2 || to.size() != ranks || from.size() != ranks || group.calls.size() != 2 * ranks) {
    return std::nullopt;
  }
  all.name = "all_to_all";
  all.dtype = "Byte";
  return all;
}

std::optional<CollectiveCall> NcclRanges::carried(const Group& group) const {
  if (group.calls.size() == 1) {
    return carried(ranges_[group.calls.front()]);
  }
  return group.calls.empty() ? std::nullopt : exchange(group);
}

std::optional<CollectiveCall> NcclRanges::launched_at(std::int64_t thread,
                                                      std::int64_t time) const {
  const auto known = threads_.find(thread);
  if (known == threads_.end()) {
    return std::nullopt;
  }
  const std::vector<std::size_t>& calls = known->second.calls;
  const auto call = std::ranges::upper_bound(
      calls, time, {}, [this](std::size_t place) { return ranges_[place].start; });
  if (call != calls.begin() && time < ranges_[*std::prev(call)].end) {
    return carried(ranges_[*std::prev(call)]);
  }
  const std::vector<Group>& groups = known->second.groups;
  const auto group = std::ranges::upper_bound(groups, time, {}, &Group::start);
  return group != groups.begin() && time < std::prev(group)->end ? carried(*std::prev(group))
                                                                 : std::nullopt;
}

}  // namespace stepcast
