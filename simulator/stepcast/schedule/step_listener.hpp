// SPDX-License-Identifier: Apache-2.0
// What hears a step while it is timed (StepTimer::at): traces, charts and the critical path are
// listeners, and no step is laid out a second time for them. Without a listener nothing of this is
// worked out. A listener hears, in this order:
//
//   transfer, task   of every rank, task by task, each behind all that it waits for and right
//                    behind the transfers of its own inputs
//   for each rank, from the first to the last,
//     operators      once, before the first pass: what the spans of passes speak of
//     pass           where it wants the spans of the rank: the gathers of each chunk, the tasks in
//                    their order, the optimizer
//     rank_end       when the rank has ended its tasks, its reductions and its optimizer
//
// Times count from the start of the step. After the last rank the step ends as soon as the host's
// own work of a step is done (HostWork::step).
//
// Passes of one kind share one list of spans, from the start of the pass. On one stream of a rank
// (stream_of) spans never overlap: where the passes, each timed by itself, have them overlap, they
// queue in the order of the passes, as reductions that outlast a pass delay those of the next one.
// The time of a step knows of each stream's sum alone. Where a queue by that ends after its rank
// has ended its tasks, or its reductions, what is in it begins by as much earlier as it takes; and
// where all of it, slowed down by what runs beside it, is longer than the time that the step has
// for it, it is shortened to that.
#pragma once

#include <string_view>
#include <vector>

#include "stepcast/pipeline/pipeline_timeline.hpp"
#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// What an operator of a step is run for.
enum class TaskRole {
  kForward,
  kRecompute,  // what forward did, once more
  kBackward,
  kGather,  // of parameters, with the copies around it
  kReduce,  // of gradients, likewise
  kOptimizer,
};

// Where an operator is listed.
struct OpPlace {
  std::size_t layer = 0;  // of StepOperators::layers; of the optimizer none
  TaskRole role = TaskRole::kOptimizer;
};

// The operators of a step, by StreamSpan::op.
struct StepOps {
  std::vector<Op> ops;
  std::vector<OpPlace> places;  // of `ops`
};

// The streams of a rank. Data parallelism has two, which take turns within a pass.
enum class RankStream { kCompute, kTensor, kExpert, kContext, kGather, kReduce, kPipeline };
inline constexpr std::size_t kRankStreams = 7;
RankStream stream_of(const StreamSpan& span, const StepOps& operators);

enum class PassPart {
  kParameters,  // gathered before the first forward of a chunk
  kForward,
  kBackward,
  kInputGradient,
  kWeightGradient,
  kForwardAndBackward,
  kOptimizer,
};
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<PassPart> = {
    "parameters",           "forward",  "backward", "input gradient", "weight gradient",
    "forward and backward", "optimizer"};

struct SpanTime {
  Seconds start;
  Seconds end;
};

struct PlacedPass {
  PassPart part = PassPart::kForward;
  PipelineTask task;        // of the last and the first part: of no meaning but the chunk
  std::size_t program = 0;  // number of its list of spans: lists are numbered as they come first
  Seconds start;
  Seconds end;
  // When each span of the list runs in the step; empty: as far behind `start` as the list says.
  std::vector<SpanTime> queued;

  [[nodiscard]] SpanTime time_of(std::size_t span, const std::vector<StreamSpan>& spans) const {
    return queued.empty() ? SpanTime{start + spans[span].start, start + spans[span].end}
                          : queued[span];
  }
};

struct RankEnd {
  std::size_t rank = 0;
  Seconds tasks;          // end of the last one
  Seconds reductions;     // that are left then, with the waiting for the others' work
  Seconds others_work;    // of it, the waiting for the data-parallel rank with the most work
  TimeBreakdown updates;  // of the optimizer, with the collectives around it

  // When the optimizer begins, and when it has ended.
  [[nodiscard]] Seconds reduced() const { return tasks + reductions; }
  [[nodiscard]] Seconds end() const { return tasks + reductions + updates.total(); }
};

class StepListener : public TaskListener {
 public:
  // Whether it wants the passes of a rank: laying these out takes longer than all else.
  [[nodiscard]] virtual bool wants_passes(std::size_t /*rank*/) const { return false; }
  virtual void operators(const StepOps& /*operators*/) {}
  // Communication of `spans` may outlast the pass.
  virtual void pass(const PlacedPass& /*pass*/, const std::vector<StreamSpan>& /*spans*/) {}
  virtual void rank_end(const RankEnd& /*end*/) {}
};

}  // namespace stepcast
