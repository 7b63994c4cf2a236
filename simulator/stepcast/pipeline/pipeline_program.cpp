// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_program.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

constexpr int kMantissa = 52;

// Rounds to multiples of a power of two such that every time up to `bound` is one of them.
class Grid {
 public:
  explicit Grid(double bound)
      : step_(bound > 0.0 ? std::ldexp(1.0, std::ilogb(bound) + 1 - kMantissa) : 1.0) {}
  [[nodiscard]] double operator()(double time) const {
    return std::nearbyint(time / step_) * step_;
  }

 private:
  double step_;
};

}  // namespace

void PipelineProgram::price(const PipelineTimes& times, std::int64_t more_rounds,
                            PipelineScratch& scratch) const {
  const std::vector<StageDuration>& stages = times.stages;
  const auto more = static_cast<double>(more_rounds);
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    const Duration& key = durations_[i];
    const auto stage = static_cast<std::size_t>(key.stage);
    const auto back = static_cast<std::size_t>(key.backward_stage);
    Seconds time = task_duration(key.kind, stage, back, stages, times.savings);
    time += key.first ? stages[stage].first_extra : Seconds{};
    time += key.last ? stages[back].last_extra : Seconds{};
    scratch.durations[i] = time.value();
  }
  double bound = (crossings_ + more * crossings_of_round_) * times.transfer.value();
  for (const Use& use : uses_) {
    bound += (use.times + more * use.in_round) *
             std::abs(scratch.durations[static_cast<std::size_t>(use.duration)]);
  }
  for (const StageDuration& stage : stages) {
    bound += stage.ready.value();
  }
  const Grid grid(bound);
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    scratch.durations[i] = grid(scratch.durations[i]);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    scratch.ready[i] = grid(stages[i].ready.value());
  }
  scratch.transfer = grid(times.transfer.value());
}

// `offset`: of the outputs, from the round that the tasks were written for.
void PipelineProgram::execute(std::span<const Task> tasks, std::int64_t offset,
                              PipelineScratch& scratch) const {
  double* const outputs = scratch.outputs.data() + offset;
  double* const free_of = scratch.free.data();
  double* const waited_of = scratch.waited.data();
  const double* const durations = scratch.durations.data();
  const double transfer = scratch.transfer;
  for (const Task& task : tasks) {
    if (task.special != kNone) {
      execute_special(task, outputs, scratch);
      continue;
    }
    double& free = free_of[task.rank];
    if (task.input != kNone) {
      const double sent = outputs[task.input];
      const double arrived = sent + transfer;
      waited_of[task.rank] += std::max(0.0, arrived - std::max(free, sent));
      free = std::max(free, arrived);
    }
    free += durations[task.duration];
    if (task.output != kNone) {
      outputs[task.output] = free;
    }
  }
}

void PipelineProgram::execute_special(const Task& task, double* outputs,
                                      PipelineScratch& scratch) const {
  const Special& special = specials_[static_cast<std::size_t>(task.special)];
  const auto rank = static_cast<std::size_t>(task.rank);
  double start = scratch.free[rank];
  if (task.input != kNone || special.other_input != kNone) {
    double made = task.input != kNone ? outputs[task.input] : 0.0;
    made = special.other_input != kNone ? std::max(made, outputs[special.other_input]) : made;
    const double arrived = made + scratch.transfer;
    scratch.waited[rank] += std::max(0.0, arrived - std::max(start, made));
    start = std::max(start, arrived);
  }
  if (special.ready != kNone) {
    const double ready = std::max(start, scratch.ready[static_cast<std::size_t>(special.ready)]);
    scratch.parameters[rank] += ready - start;
    start = ready;
  }
  const double end = start + scratch.durations[static_cast<std::size_t>(task.duration)];
  scratch.free[rank] = end;
  for (const std::int32_t made : {task.output, special.other_output}) {
    if (made != kNone) {
      outputs[made] = end;
    }
  }
  for (const std::int32_t chunk : {special.closes, special.other_closes}) {
    if (chunk != kNone) {
      scratch.closed[static_cast<std::size_t>(chunk)] = end;
    }
  }
}

std::int64_t PipelineProgram::tasks_of_round() const {
  return steady_.empty() ? 0 : std::ssize(steady_.front().round);
}

std::size_t PipelineProgram::tasks_kept() const {
  std::size_t tasks = draining_.size();
  for (const Stretch& stretch : steady_) {
    tasks += stretch.filling.size() + stretch.round.size();
  }
  return tasks;
}

PipelineEnds PipelineProgram::run(const PipelineTimes& times, PipelineScratch& scratch,
                                  std::int64_t more_rounds) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  for (std::vector<double>* of_rank : {&scratch.free, &scratch.waited, &scratch.parameters}) {
    of_rank->assign(ranks, 0.0);
  }
  scratch.closed.assign(ranks * static_cast<std::size_t>(chunks_), 0.0);
  scratch.durations.resize(durations_.size());
  scratch.ready.resize(static_cast<std::size_t>(stages_));
  if (std::ssize(scratch.outputs) < outputs_) {
    scratch.outputs.resize(static_cast<std::size_t>(outputs_));
  }
  price(times, more_rounds, scratch);
  std::int64_t offset = 0;
  for (const Stretch& stretch : steady_) {
    execute(stretch.filling, 0, scratch);
    const std::int64_t run = run_rounds(stretch, stretch.rounds + more_rounds, scratch);
    offset = (run - stretch.rounds) * stretch.stride;
  }
  execute(draining_, offset, scratch);
  return ends_of(scratch, more_rounds);
}

// A rank is idle when it neither computes nor waits for a transfer or for parameters.
PipelineEnds PipelineProgram::ends_of(const PipelineScratch& scratch,
                                      std::int64_t more_rounds) const {
  PipelineEnds ends;
  ends.ranks.reserve(static_cast<std::size_t>(ranks_));
  const auto more = static_cast<double>(more_rounds);
  auto use = uses_.begin();
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
    double busy = 0.0;
    for (; use != uses_.end() && static_cast<std::size_t>(use->rank) == rank; ++use) {
      busy += (use->times + more * use->in_round) *
              scratch.durations[static_cast<std::size_t>(use->duration)];
    }
    const double bubble =
        scratch.free[rank] - busy - scratch.waited[rank] - scratch.parameters[rank];
    ends.ranks.push_back({Seconds(bubble), Seconds(scratch.waited[rank]),
                          Seconds(scratch.parameters[rank]), Seconds(scratch.free[rank])});
  }
  ends.chunk_end.reserve(scratch.closed.size());
  for (const double end : scratch.closed) {
    ends.chunk_end.emplace_back(end);
  }
  return ends;
}

}  // namespace stepcast
