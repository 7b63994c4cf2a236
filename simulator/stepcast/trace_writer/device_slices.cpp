// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/device_slices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace stepcast {
namespace {

constexpr std::int64_t kSliceRounding = 2;  // ns, by which times that were equal may differ

// By the stream of the rank that it runs on.
constexpr std::array<DeviceStream, kRankStreams> kStreams = {
    DeviceStream::kCompute, DeviceStream::kTensor, DeviceStream::kExpert, DeviceStream::kContext,
    DeviceStream::kGather,  DeviceStream::kReduce, DeviceStream::kSend};

HostThread thread_of(TaskRole role, PassPart part) {
  switch (role) {
    case TaskRole::kForward:
    case TaskRole::kOptimizer:
      return HostThread::kForward;
    case TaskRole::kRecompute:
    case TaskRole::kBackward:
    case TaskRole::kReduce:
      return HostThread::kBackward;
    case TaskRole::kGather:
      break;
  }
  const bool forward = part == PassPart::kForward || part == PassPart::kParameters ||
                       part == PassPart::kForwardAndBackward;
  return forward ? HostThread::kForward : HostThread::kBackward;
}

// What a kernel hides of a communication runs beside it: what makes operands after the part that is
// waited for, what takes results before it.
bool follows_computation(const Op& op) {
  if (const auto* collective = std::get_if<Collective>(&op.work)) {
    return collective->op == CollectiveOp::kReduceScatter ||
           collective->op == CollectiveOp::kAllReduce;
  }
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  return exchange != nullptr && exchange->phase == ExchangePhase::kCombine;
}

// The forward operator that each backward one belongs to, where one alone has its name; below 0:
// none.
std::vector<std::int32_t> forward_of_ops(const PlacedStep& step) {
  std::map<std::pair<std::size_t, OpId>, std::int32_t> forward;
  for (std::size_t i = 0; i < step.operators.ops.size(); ++i) {
    if (step.operators.places[i].role == TaskRole::kForward) {
      const auto [entry, added] =
          forward.emplace(std::pair(step.operators.places[i].layer, step.operators.ops[i].id),
                          static_cast<std::int32_t>(i));
      entry->second = added ? entry->second : -1;
    }
  }
  std::vector<std::int32_t> result(step.operators.ops.size(), -1);
  for (std::size_t i = 0; i < step.operators.ops.size(); ++i) {
    const auto found = forward.find({step.operators.places[i].layer, step.operators.ops[i].id});
    if (step.operators.places[i].role == TaskRole::kBackward && found != forward.end()) {
      result[i] = found->second;
    }
  }
  return result;
}

class Slicer {
 public:
  explicit Slicer(const PlacedStep& step) : step_(step), forward_of_(forward_of_ops(step)) {
    paired_.resize(step.operators.ops.size());
    for (const std::int32_t forward : forward_of_) {
      if (forward >= 0) {
        paired_[static_cast<std::size_t>(forward)] = true;
      }
    }
    std::int32_t chunks = 1;
    for (const PlacedPass& pass : step.passes) {
      chunks = std::max({chunks, pass.task.chunk + 1, pass.task.backward_chunk + 1});
    }
    chunks_ = chunks;
    for (const std::vector<StreamSpan>& program : step.programs) {
      note_places(program);
    }
  }

  DeviceSlices slices() {
    for (const PlacedPass& pass : step_.passes) {
      add(pass);
    }
    for (const PlacedTransfer& transfer : step_.transfers) {
      add(transfer);
    }
    const std::int64_t end = nanoseconds(step_.step);
    add(FurtherOp::kCopyIn, 0, 1, DeviceStream::kCopies);
    add(FurtherOp::kCopyOut, std::max<std::int64_t>(end, 2) - 1, std::max<std::int64_t>(end, 2),
        DeviceStream::kCopies);
    std::ranges::stable_sort(streams_and_slices_, {},
                             [](const OnStream& entry) { return entry.slice.begin; });
    assign_lanes();
    return std::move(result_);
  }

 private:
  struct OnStream {
    DeviceSlice slice;
    DeviceStream stream = DeviceStream::kCompute;
    std::int32_t lane = 0;
  };

  // Of each span of a program, the layer that it belongs to, counted from the end of the forward
  // pass: backward meets them in this order.
  void note_places(const std::vector<StreamSpan>& program) {
    std::map<std::int32_t, std::int64_t> count;
    std::vector<std::int64_t> places;
    places.reserve(program.size());
    for (const StreamSpan& span : program) {
      places.push_back(count[span.op]++);
    }
    for (std::size_t i = 0; i < program.size(); ++i) {
      const std::int32_t op = program[i].op;
      if (op >= 0 &&
          step_.operators.places[static_cast<std::size_t>(op)].role == TaskRole::kForward) {
        places[i] = count[op] - 1 - places[i];
      }
      most_layers_ = std::max(most_layers_, count[op]);
    }
    layer_.push_back(std::move(places));
  }

  [[nodiscard]] std::int64_t sequence(std::int32_t chunk, std::int32_t micro_batch,
                                      std::int32_t forward, std::int64_t layer) const {
    const auto ops = static_cast<std::int64_t>(step_.operators.ops.size());
    return 1 + ((std::int64_t{micro_batch} * chunks_ + chunk) * most_layers_ + layer) * ops +
           forward;
  }

  void pair_up(const PlacedPass& pass, const StreamSpan& span, std::int64_t layer,
               DeviceSlice& slice) const {
    const auto op = static_cast<std::size_t>(span.op);
    const PipelineTask& task = pass.task;
    const bool pair = pass.part == PassPart::kForwardAndBackward;
    if (paired_[op]) {
      slice.sequence = sequence(task.chunk, task.micro_batch, span.op, layer);
    } else if (forward_of_[op] >= 0) {
      slice.in_backward = true;
      slice.sequence =
          sequence(pair ? task.backward_chunk : task.chunk,
                   pair ? task.backward_micro_batch : task.micro_batch, forward_of_[op], layer);
    }
  }

  void add(const PlacedPass& pass) {
    const std::vector<StreamSpan>& program = step_.programs[pass.program];
    for (std::size_t i = 0; i < program.size(); ++i) {
      const StreamSpan& span = program[i];
      if (span.op < 0) {
        continue;
      }
      const auto op = static_cast<std::size_t>(span.op);
      const TaskRole role = step_.operators.places[op].role;
      const auto [from, to] = pass.time_of(i, program);
      const bool before = follows_computation(step_.operators.ops[op]);
      DeviceSlice slice;
      slice.begin = nanoseconds(max(Seconds{}, from - (before ? span.hidden : Seconds{})));
      slice.end = nanoseconds(to + (before ? Seconds{} : span.hidden));
      slice.host = nanoseconds(span.host);
      slice.op = span.op;
      slice.launched_by = thread_of(role, pass.part);
      slice.recomputed = role == TaskRole::kRecompute;
      pair_up(pass, span, layer_[pass.program][i], slice);
      const auto stream = static_cast<std::size_t>(stream_of(span, step_.operators));
      streams_and_slices_.push_back({slice, kStreams[stream], 0});
    }
  }

  void add(const PlacedTransfer& transfer) {
    const bool sends = transfer.end_of == TransferEnd::kSends;
    add(sends ? FurtherOp::kSend : FurtherOp::kReceive, nanoseconds(transfer.start),
        nanoseconds(transfer.end), sends ? DeviceStream::kSend : DeviceStream::kReceive);
    streams_and_slices_.back().slice.peer = transfer.peer;
  }

  void add(FurtherOp op, std::int64_t begin, std::int64_t end, DeviceStream stream) {
    DeviceSlice slice;
    slice.begin = begin;
    slice.end = end;
    slice.op = static_cast<std::int32_t>(step_.operators.ops.size() + static_cast<std::size_t>(op));
    streams_and_slices_.push_back({slice, stream, 0});
  }

  // The first thread of its stream that is free takes a kernel.
  void assign_lanes() {
    std::array<std::vector<std::int64_t>, kDeviceStreams> free;
    free[0].push_back(0);
    for (OnStream& entry : streams_and_slices_) {
      std::vector<std::int64_t>& lanes = free[static_cast<std::size_t>(entry.stream)];
      std::size_t lane = 0;
      while (lane < lanes.size() && lanes[lane] > entry.slice.begin + kSliceRounding) {
        ++lane;
      }
      lanes.resize(std::max(lanes.size(), lane + 1));
      entry.slice.begin = std::max(entry.slice.begin, lanes[lane]);
      entry.slice.end = std::max(entry.slice.end, entry.slice.begin);
      lanes[lane] = entry.slice.end;
      entry.lane = static_cast<std::int32_t>(lane);
    }
    std::array<std::int32_t, kDeviceStreams> first{};
    for (std::size_t stream = 0; stream < kDeviceStreams; ++stream) {
      first[stream] = static_cast<std::int32_t>(result_.threads.size());
      for (std::size_t lane = 0; lane < free[stream].size(); ++lane) {
        result_.threads.push_back(
            {static_cast<DeviceStream>(stream), static_cast<std::int32_t>(lane)});
      }
    }
    result_.slices.reserve(streams_and_slices_.size());
    for (const OnStream& entry : streams_and_slices_) {
      result_.slices.push_back(entry.slice);
      result_.slices.back().thread = first[static_cast<std::size_t>(entry.stream)] + entry.lane;
    }
  }

  const PlacedStep& step_;
  std::vector<std::int32_t> forward_of_;          // of PlacedStep::operators
  std::vector<bool> paired_;                      // likewise: some backward belongs to it
  std::vector<std::vector<std::int64_t>> layer_;  // of the spans of each program
  std::int64_t most_layers_ = 1;
  std::int64_t chunks_ = 1;
  std::vector<OnStream> streams_and_slices_;
  DeviceSlices result_;
};

}  // namespace

std::int64_t nanoseconds(Seconds time) {
  constexpr double kNanosecond = 1e-9;
  return std::llround(time.value() / kNanosecond);
}

DeviceSlices device_slices(const PlacedStep& step) { return Slicer(step).slices(); }

std::vector<HostCall> host_calls(const std::vector<DeviceSlice>& slices) {
  std::vector<HostCall> calls(slices.size());
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = slices.size(); i-- > 0;) {
    const std::int64_t end = std::min(next, slices[i].begin);
    const std::int64_t begin = end - std::max(kShortest, slices[i].host);
    calls[i] = {begin, end};
    next = begin;
  }
  return calls;
}

}  // namespace stepcast
