// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/least_stage.hpp"

#include <algorithm>

namespace stepcast {
namespace {

bool every_pass(Frequency frequency) { return frequency == Frequency::kEveryMicroBatch; }

// What data parallelism moves in every pass, and ends in it.
void add_traffic(const StageProgram& program, LeastPass& forward, LeastPass& backward) {
  const TrafficRule& rule = program.rule;
  Seconds left;  // the reduction that may go on after the pass
  double gathers = 0.0;
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = program.tasks.layers[run.layer];
    const auto times = static_cast<double>(run.count);
    if (every_pass(rule.forward_gather) && !layer.gather.empty()) {
      forward.add_moved(times, layer.gather);
      gathers += times;
    }
    if (every_pass(rule.backward_gather) && !layer.stays_gathered) {
      backward.add_moved(times * static_cast<double>(rule.backward_gathers), layer.gather);
    }
    // A layer waits for the reduction of the one before only where it has to fill its buffer.
    if (every_pass(rule.reduce) && rule.reduces_beside_backward && !layer.before_reduce.empty()) {
      backward.add_moved(times, layer.reduce);
      left = max(left, duration_of(layer.reduce));
    }
  }
  backward.moved = max(Seconds{}, backward.moved - left);
  // No layer waits for the first gather of a forward, which stands for that of the next forward,
  // but those that follow wait behind it.
  forward.moved = gathers > 1.0 ? forward.moved : Seconds{};
}

}  // namespace

namespace {

Seconds reduced_at_last(const StageProgram& program) {
  Seconds reduced;
  for (const LayerRun& run : program.runs) {
    const LayerTasks& layer = program.tasks.layers[run.layer];
    const auto times = static_cast<double>(run.count);
    if (program.rule.reduce == Frequency::kOnceAStep) {
      reduced += times * (duration_of(layer.reduce) + duration_of(layer.replicas));
    }
  }
  return reduced;
}

}  // namespace

LeastPass pass_of(const TaskSums& sums) {
  LeastPass pass;
  pass.sums = sums;
  if (sums.compute > Seconds{}) {
    pass.rate = std::min(1.0, sums.compute / sums.contended);
  }
  return pass;
}

void LeastPass::add(double times, const LeastPass& other) {
  sums.add(times, other.sums);
  moved += times * other.moved;
  rate = std::max(rate, other.rate);
  slowdown = std::min(slowdown, other.slowdown);
}

void LeastPass::add_moved(double times, const TaskList& tasks) {
  for (const StreamTask& task : tasks) {
    moved += times * task.duration;
    slowdown = std::min(slowdown, std::max(1.0, task.stretch.least));
  }
}

Seconds LeastPass::beside() const {
  const Seconds longest = *std::max_element(sums.exposed.begin(), sums.exposed.end());
  return max(max(sums.compute, longest), sums.launching);
}

Seconds LeastPass::alone() const {
  const Seconds serial = sums.compute + sums.blocking;
  const Seconds left = max(Seconds{}, moved - sums.blocking);
  if (!(left > Seconds{}) || !(rate > 0.0)) {
    return max(serial + left, sums.launching);
  }
  const Seconds together = min(slowdown * left, (1.0 / rate) * sums.compute);
  const double saved = std::min(0.0, 1.0 - rate - 1.0 / slowdown);
  return max(serial + left + saved * together, sums.launching);
}

LeastPass least_of(const LeastPass& a, const LeastPass& b) {
  LeastPass least;
  for (Seconds TaskSums::*sum :
       {&TaskSums::compute, &TaskSums::contended, &TaskSums::weight, &TaskSums::launching_weight,
        &TaskSums::blocking, &TaskSums::launching}) {
    least.sums.*sum = min(a.sums.*sum, b.sums.*sum);
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    least.sums.exposed[axis] = min(a.sums.exposed[axis], b.sums.exposed[axis]);
  }
  least.sums.energy = min(a.sums.energy, b.sums.energy);
  least.moved = min(a.moved, b.moved);
  least.rate = std::max(a.rate, b.rate);
  least.slowdown = std::min(a.slowdown, b.slowdown);
  return least;
}

LeastPass together(const LeastPass& a, const LeastPass& b) {
  LeastPass both = a;
  both.add(1.0, b);
  return both;
}

void StagePasses::add(double times, const StagePasses& other) {
  forward.add(times, other.forward);
  backward.add(times, other.backward);
  recomputed.add(times, other.recomputed);
}

StagePasses stage_passes(const StageProgram& program) {
  StagePasses passes;
  for (const LayerRun& run : program.runs) {
    const LayerSums& layer = program.tasks.sums[run.layer];
    const auto times = static_cast<double>(run.count);
    passes.forward.add(times, pass_of(layer.forward));
    passes.backward.add(times, pass_of(layer.backward));
    passes.recomputed.add(times, pass_of(layer.full_recompute));
  }
  return passes;
}

LeastStage least_stage(const StageProgram& program, PassMode mode) {
  LeastPass forward;
  LeastPass backward;
  for (const LayerRun& run : program.runs) {
    const LayerSums& layer = program.tasks.sums[run.layer];
    const auto times = static_cast<double>(run.count);
    forward.add(times, pass_of(layer.forward));
    backward.add(times, pass_of(layer.backward));
    if (run.recomputed) {
      backward.add(times, pass_of(layer.full_recompute));
    }
  }
  const bool alone = mode != PassMode::kUniform;
  LeastStage least;
  least.first_forward = alone ? forward.alone() : forward.beside();
  least.forward_sums = forward;
  least.backward_sums = backward;
  add_traffic(program, forward, backward);
  least.forward = alone ? forward.alone() : forward.beside();
  least.backward = alone ? backward.alone() : backward.beside();
  least.energy = forward.sums.energy + backward.sums.energy;
  least.reduced = alone ? reduced_at_last(program) : Seconds{};
  // Gradients of inputs keep what is not a weight gradient; these take their kernels, or what is
  // left of the pass while its host launches gradients of inputs.
  const Seconds serial = backward.sums.compute + (alone ? backward.sums.blocking : Seconds{});
  const Seconds launching_inputs = backward.sums.launching - backward.sums.launching_weight;
  least.inputs = min(least.backward, max(serial - backward.sums.weight, launching_inputs));
  least.weight = max(Seconds{}, min(backward.sums.weight, least.backward - launching_inputs));
  return least;
}

}  // namespace stepcast
