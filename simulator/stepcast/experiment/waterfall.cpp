// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/waterfall.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>

#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/model/memory_bound_kind.hpp"

namespace stepcast {
namespace {

// Of one kind of matrix work: at its own clock without any loss, and as it is.
struct MatrixTime {
  Seconds clocked;
  Seconds taken;

  [[nodiscard]] Seconds lost() const { return taken - clocked; }
};

// What the operators of the rank's computation take by themselves.
struct ComputationTimes {
  Flops executed;  // by matrix units, once
  Seconds rated;   // the same at the peak of each operator's numbers, at the rated clock
  MatrixTime products;
  MatrixTime attention;
  std::array<Seconds, kMemoryBoundKinds> memory_bound;
  Seconds recomputed;

  [[nodiscard]] Seconds total() const {
    return products.taken + attention.taken + sum_over(memory_bound) + recomputed;
  }
};

ComputationTimes times_of(const std::vector<ExplainedOp>& operators) {
  ComputationTimes times;
  for (const ExplainedOp& entry : operators) {
    const Flops work = flops(entry.counted.op);
    if (!entry.computes()) {
      continue;
    }
    if (entry.counted.pass == StepPass::kRecompute) {
      times.recomputed += entry.total();
    } else if (const auto* passes = std::get_if<MemoryBound>(&entry.counted.op.work)) {
      times.memory_bound[static_cast<std::size_t>(passes->kind)] += entry.total();
    } else {
      const double calls = real(entry.counted.count);
      times.executed += calls * work;
      times.rated += calls * entry.rated;
      MatrixTime& kind = is_matrix_product(entry.counted.op) ? times.products : times.attention;
      kind.clocked += calls * entry.clocked;
      kind.taken += entry.total();
    }
  }
  return times;
}

// Adds causes to the time at the peak.
class Fall {
 public:
  explicit Fall(Seconds at_peak) : at_peak_(at_peak), time_(at_peak) {}

  void add(std::string_view cause, Seconds time, std::vector<KindTime> parts = {}) {
    // What sums that are equal leave when they are subtracted is no cause.
    constexpr double kRounding = 1e-12;
    if (std::abs(time / time_) < kRounding) {
      return;
    }
    const Seconds before = time_;
    time_ += time;
    steps_.push_back({cause, time, before / time_, at_peak_ / time_, std::move(parts)});
  }
  std::vector<WaterfallStep> take() { return std::move(steps_); }

 private:
  Seconds at_peak_;
  Seconds time_;
  std::vector<WaterfallStep> steps_;
};

// In the order of Axis.
constexpr std::array<std::string_view, kAxes> kExposed = {"tp_communication", "ep_communication",
                                                          "cp_communication", "dp_communication",
                                                          "pp_communication"};

std::vector<KindTime> kinds_of(const ComputationTimes& times) {
  std::vector<KindTime> kinds;
  for (std::size_t kind = 0; kind < kMemoryBoundKinds; ++kind) {
    if (times.memory_bound[kind] > Seconds{}) {
      kinds.push_back({name(static_cast<MemoryBoundKind>(kind)), times.memory_bound[kind]});
    }
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &KindTime::time);
  return kinds;
}

void add_computation(const Explanation& explanation, Fall& fall) {
  const Projection& p = explanation.projection;
  const ComputationTimes times = times_of(explanation.operators);
  const Seconds masked = p.masked_mfu * p.time.step;
  const Seconds executed = times.executed / p.peak_rate;
  fall.add("mask", masked - p.mfu * p.time.step);
  fall.add("imbalance", executed - masked);
  fall.add("precision", times.rated - executed);
  fall.add("recompute", times.recomputed);
  fall.add("clock", times.products.clocked + times.attention.clocked - times.rated);
  fall.add("products", times.products.lost());
  fall.add("attention", times.attention.lost());
  fall.add("memory_bound", sum_over(times.memory_bound), kinds_of(times));
  fall.add("computation", p.time.breakdown.compute - times.total());
}

}  // namespace

std::vector<WaterfallStep> waterfall(const Explanation& explanation) {
  const Projection& p = explanation.projection;
  if (!p.priced || p.mfu <= 0.0) {
    return {};
  }
  Fall fall(p.mfu * p.time.step);
  add_computation(explanation, fall);
  const TimeBreakdown& time = p.time.breakdown;
  fall.add("contention", time.contention);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    fall.add(kExposed[axis], time.exposed[axis]);
  }
  fall.add("bubble", time.bubble);
  fall.add("optimizer", time.optimizer);
  fall.add("host", time.host);
  return fall.take();
}

}  // namespace stepcast
