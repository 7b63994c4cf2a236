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
void PipelineProgram::execute(const std::vector<Task>& tasks, std::int64_t offset,
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

// Whether every rank and every output on its way is as it was a round ago, later by the same time.
bool PipelineProgram::repeats(const PipelineScratch& scratch, std::int64_t offset) const {
  const double later = scratch.free.front() - scratch.free_before.front();
  for (std::size_t rank = 1; rank < scratch.free.size(); ++rank) {
    if (scratch.free[rank] - scratch.free_before[rank] != later) {
      return false;
    }
  }
  const double* const now = scratch.outputs.data() + offset;
  const double* const before = now - stride_;
  return std::all_of(live_.begin(), live_.end(),
                     [&](std::int32_t output) { return now[output] - before[output] == later; });
}

// Runs rounds until they repeat; returns how many were run.
std::int64_t PipelineProgram::run_rounds(std::int64_t rounds, PipelineScratch& scratch) const {
  for (std::int64_t done = 0; done < rounds; ++done) {
    if (done >= first_check_ && repeats(scratch, done * stride_)) {
      return done;
    }
    scratch.free_before = scratch.free;
    scratch.waited_before = scratch.waited;
    execute(round_, done * stride_, scratch);
  }
  return rounds;
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
  const auto outputs = static_cast<std::size_t>(outputs_ + more_rounds * stride_);
  if (scratch.outputs.size() < outputs) {
    scratch.outputs.resize(outputs);
  }
  price(times, more_rounds, scratch);
  execute(filling_, 0, scratch);
  const std::int64_t done = run_rounds(rounds_ + more_rounds, scratch);
  const auto left = static_cast<double>(rounds_ + more_rounds - done);
  // What the rounds that are left add; a chunk ends while draining.
  double later = 0.0;
  if (left > 0.0) {
    later = left * (scratch.free.front() - scratch.free_before.front());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      scratch.waited[rank] += left * (scratch.waited[rank] - scratch.waited_before[rank]);
    }
  }
  execute(draining_, (done - rounds_) * stride_, scratch);
  for (std::vector<double>* ends : {&scratch.free, &scratch.closed}) {
    for (double& end : *ends) {
      end += later;
    }
  }
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
