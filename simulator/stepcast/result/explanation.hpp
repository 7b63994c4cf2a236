// SPDX-License-Identifier: Apache-2.0
// Why a step takes as long as it does: its operators, what limits it, the chain of tasks that
// determines it, and what more of each resource would buy. Why one experiment takes longer for a
// token than another: the time of a GPU for a token, term by term.
//
//   GPU-time of a token = 1 / (tokens/s/GPU) = sum over the keys of the time breakdown of
//                         key / step / (tokens/s/GPU)
//
// Computation is split by the kinds of its operators, at the time they take alone; what that leaves
// of the computation, because the step is priced between two clocks, is "other computation". The
// terms of the difference add up to the difference of the two.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/sum.hpp"
#include "stepcast/cost/cost_model.hpp"
#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/schedule/critical_path.hpp"
#include "stepcast/schedule/operator_inventory.hpp"

namespace stepcast {

struct ExplainedOp {
  CountedOp counted;
  OpCost cost;                   // of one call, with terms
  Seconds bound;                 // no kernel is faster; zero: there is no such bound
  Seconds rated{};               // its FLOPs at the matrix peak of its numbers, at the rated clock
  Seconds clocked{};             // and at its own clock
  Bytes interconnect{};          // that a communication carries (interconnect_bytes)
  CommunicationBytes experts{};  // of a communication between the ranks of experts

  [[nodiscard]] bool communicates() const { return communication_axis(counted.op).has_value(); }
  // What the breakdown of a step calls computation: FSDP's copy of its shard runs with its gathers.
  [[nodiscard]] bool computes() const {
    return !communicates() && counted.pass != StepPass::kOptimizer &&
           !runs_on_gather_stream(counted.op);
  }
  [[nodiscard]] Seconds total() const { return static_cast<double>(counted.count) * cost.duration; }
};

// What limits a part of the step of the slowest rank.
struct LimitedTime {
  std::string_view limit;  // "HBM", with static lifetime
  Seconds time;
};

// What a projection gains from more of one resource.
struct Sensitivity {
  std::string_view resource;  // "hbm_bandwidth", with static lifetime
  double factor = 1.0;        // of the resource
  double from = 0.0;          // tokens/s/GPU as it is
  double to = 0.0;            // with the factor
  // Of the clock: the two that are compared; zero of all other resources.
  Hertz from_clock{};
  Hertz to_clock{};
  bool of_time = false;  // more of the resource is longer and not faster

  [[nodiscard]] double change_percent() const { return 100.0 * (to / from - 1.0); }
};

// What kernels of one kind take of the step.
struct KindTime {
  std::string_view kind;  // "permute", with static lifetime
  Seconds time;
};

// From the peak rate to the MFU (experiment/waterfall.hpp).
struct WaterfallStep {
  std::string_view cause;  // with static lifetime
  Seconds time;            // of the step; negative of a gain
  double factor = 1.0;     // of the MFU
  double mfu_after = 0.0;
  std::vector<KindTime> parts{};  // of kernels that memory bounds, most time first; else none
};

// Settings of an experiment moved by one step, or two of them together, and what that makes of it.
struct AdvisedChange {
  // What is moved, as it is called: {"plan.zero", "3, not resharded"}.
  std::vector<std::pair<std::string, std::string>> moves;
  std::vector<std::pair<std::string, std::string>> settings;  // as --set takes them
  double tokens_per_second_per_gpu = 0.0;
  double gain = 0.0;  // of tokens/s/GPU, as a share
  Bytes peak_memory{};
  double probability = 1.0;  // that memory suffices
  MemoryVerdict verdict = MemoryVerdict::kFits;
};

struct Explanation {
  Projection projection;
  std::vector<WaterfallStep> waterfall;
  // Those that fit first, then by their rate; empty until it is asked for (experiment/advice.hpp).
  std::vector<AdvisedChange> advice;
  std::vector<ExplainedOp> operators;  // of the slowest pipeline rank, most total time first
  std::vector<LimitedTime> limits;     // of the step of that rank, most time first
  std::vector<PathSegment> path;       // that determines the step; adds up to it
  std::vector<Sensitivity> sensitivities;

  // The optimizer is part of the computation.
  [[nodiscard]] Seconds computation() const {
    return sum_over(operators, [](const ExplainedOp& entry) {
      return entry.communicates() ? Seconds{} : entry.total();
    });
  }
  [[nodiscard]] Seconds communication() const {
    return sum_over(operators, [](const ExplainedOp& entry) {
      return entry.communicates() ? entry.total() : Seconds{};
    });
  }
  // Of the computation.
  [[nodiscard]] double share(const ExplainedOp& op) const {
    const Seconds all = computation();
    return all > Seconds{} ? op.total() / all : 0.0;
  }
};

// In microseconds of one GPU for a token.
struct DifferenceTerm {
  std::string name;
  double first = 0.0;
  double second = 0.0;

  [[nodiscard]] double difference() const { return second - first; }
};

struct Difference {
  DifferenceTerm total;
  std::vector<DifferenceTerm> terms;      // in the order of the breakdown; none is zero in both
  std::vector<DifferenceTerm> operators;  // equal names together, the largest difference first
};

}  // namespace stepcast
