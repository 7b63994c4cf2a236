// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/pipeline_program.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "stepcast/schedule/pipeline_sequence.hpp"

namespace stepcast {
namespace {

constexpr int kMantissa = 52;

// Rounds to multiples of a power of two such that every time up to `bound` is one of them.
class Grid {
 public:
  explicit Grid(double bound)
      : step_(bound > 0.0 ? std::ldexp(1.0, std::ilogb(bound) + 1 - kMantissa) : 1.0) {}
  [[nodiscard]] double operator()(Seconds time) const {
    return std::nearbyint(time.value() / step_) * step_;
  }

 private:
  double step_;
};

}  // namespace

// --- from orders to a program -------------------------------------------------------------------

class PipelineProgram::Compiler {
 public:
  Compiler(Schedule schedule, const PipelineShape& shape, const std::vector<RankOrder>& orders,
           PipelineProgram& program)
      : orders_(orders), program_(program), numbers_{stage_count(shape)} {
    for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (std::int64_t chunk = 0; chunk < program.chunks_; ++chunk) {
        chunks_.push_back({stage_on(schedule, shape, rank, chunk), false,
                           micro_batches_through(schedule, shape, chunk)});
      }
    }
    producers_.resize(static_cast<std::size_t>(program.outputs_));
  }

  void compile(const PipelineSequence& sequence) {
    const std::size_t round_end = sequence.filling + sequence.round;
    const std::size_t draining =
        sequence.filling + sequence.round * static_cast<std::size_t>(sequence.rounds);
    program_.rounds_ = sequence.rounds;
    program_.stride_ = sequence.micro_batches * numbers_.stride();
    for (std::size_t i = 0; i < sequence.tasks.size(); ++i) {
      const Task task = compiled(sequence.tasks[i], i);
      if (i < sequence.filling) {
        program_.filling_.push_back(task);
      } else if (i < round_end) {
        program_.round_.push_back(task);
      } else if (i >= draining) {
        program_.draining_.push_back(task);
      }
    }
    if (sequence.rounds > 0) {
      note_live(sequence);
    }
  }

 private:
  struct Chunk {
    std::int64_t stage = 0;
    bool begun = false;
    std::int64_t backwards = 0;  // still to come
  };
  struct Producer {
    std::int32_t rank = 0;
    std::size_t place = 0;  // in the sequence
  };

  [[nodiscard]] std::size_t chunk_of(std::int32_t rank, std::int32_t chunk) const {
    return static_cast<std::size_t>(rank * program_.chunks_ + chunk);
  }

  Task compiled(const SequencedTask& placed, std::size_t place) {
    const PipelineTask& from =
        orders_[static_cast<std::size_t>(placed.rank)][static_cast<std::size_t>(placed.position)];
    const bool pair = from.kind == TaskKind::kOverlapped;
    const std::size_t chunk = chunk_of(placed.rank, from.chunk);
    const std::size_t other = pair ? chunk_of(placed.rank, from.backward_chunk) : chunk;
    const Duration duration = duration_of(from, chunk, other);
    const TaskLinks links = links_of(from, chunks_[chunk].stage, chunks_[other].stage, numbers_);
    Task task;
    task.rank = placed.rank;
    task.duration = number_of(duration);
    task.chunk = static_cast<std::int32_t>(chunk);
    task.other_chunk = static_cast<std::int32_t>(other);
    task.ready = duration.first ? duration.stage : -1;
    task.outputs = links.outputs;
    for (std::size_t i = 0; i < links.inputs.size(); ++i) {
      const std::int32_t awaited = links.inputs[i];
      const bool crosses =
          awaited >= 0 && producers_[static_cast<std::size_t>(awaited)].rank != placed.rank;
      task.inputs[i] = {awaited, crosses};
      program_.crossings_ += crosses ? 1.0 : 0.0;
    }
    for (const std::int32_t made : links.outputs) {
      if (made >= 0) {
        producers_[static_cast<std::size_t>(made)] = {placed.rank, place};
      }
    }
    return task;
  }

  // The first forward of a chunk on its rank waits for parameters, the last backward reduces.
  Duration duration_of(const PipelineTask& task, std::size_t chunk, std::size_t other) {
    const bool pair = task.kind == TaskKind::kOverlapped;
    Duration duration{task.kind, static_cast<std::int32_t>(chunks_[chunk].stage),
                      static_cast<std::int32_t>(chunks_[other].stage)};
    if (task.kind == TaskKind::kForward || pair) {
      duration.first = !chunks_[chunk].begun;
      chunks_[chunk].begun = true;
    }
    if (task.kind == TaskKind::kBackward || task.kind == TaskKind::kWeightGradient || pair) {
      duration.last = --chunks_[other].backwards == 0;
    }
    return duration;
  }

  std::int32_t number_of(const Duration& duration) {
    const auto next = static_cast<std::int32_t>(program_.durations_.size());
    const auto [known, fresh] = numbers_of_durations_.try_emplace(duration, next);
    if (fresh) {
      program_.durations_.push_back(duration);
      program_.uses_.push_back(0.0);
    }
    program_.uses_[static_cast<std::size_t>(known->second)] += 1.0;
    return known->second;
  }

  // Outputs that tasks behind a boundary between rounds read and tasks before it made: numbered as
  // at the boundary before the first round.
  void note_live(const PipelineSequence& sequence) {
    const auto note = [&](const Task& task, std::int64_t rounds_before) {
      for (const Input& input : task.inputs) {
        if (input.slot < 0) {
          continue;
        }
        const std::size_t made = producers_[static_cast<std::size_t>(input.slot)].place;
        const auto boundary =
            sequence.filling + static_cast<std::size_t>(rounds_before) * sequence.round;
        if (made >= boundary) {
          continue;
        }
        const std::int64_t back =
            made < sequence.filling
                ? rounds_before + 1
                : rounds_before -
                      static_cast<std::int64_t>((made - sequence.filling) / sequence.round);
        program_.first_check_ = std::max(program_.first_check_, back + 1);
        program_.live_.push_back(
            static_cast<std::int32_t>(input.slot - rounds_before * program_.stride_));
      }
    };
    for (const Task& task : program_.round_) {
      note(task, 0);
    }
    for (const Task& task : program_.draining_) {
      note(task, sequence.rounds);
    }
    std::sort(program_.live_.begin(), program_.live_.end());
    program_.live_.erase(std::unique(program_.live_.begin(), program_.live_.end()),
                         program_.live_.end());
  }

  const std::vector<RankOrder>& orders_;
  PipelineProgram& program_;
  OutputNumbers numbers_;
  std::vector<Chunk> chunks_;  // rank-major
  std::vector<Producer> producers_;
  struct Hash {
    std::size_t operator()(const Duration& d) const {
      return ((static_cast<std::size_t>(d.stage) * 4096U +
               static_cast<std::size_t>(d.backward_stage)) *
                  8U +
              static_cast<std::size_t>(d.kind)) *
                 4U +
             (d.first ? 2U : 0U) + (d.last ? 1U : 0U);
    }
  };
  std::unordered_map<Duration, std::int32_t, Hash> numbers_of_durations_;
};

PipelineProgram::PipelineProgram(Schedule schedule, const PipelineShape& shape,
                                 const std::vector<RankOrder>& orders)
    : stages_(stage_count(shape)),
      ranks_(shape.ranks),
      chunks_(chunks_held(schedule, shape)),
      outputs_(2 * stage_count(shape) * shape.micro_batches) {
  Compiler(schedule, shape, orders, *this).compile(pipeline_sequence(schedule, shape, orders));
}

// --- a run --------------------------------------------------------------------------------------

struct PipelineProgram::State {
  double transfer = 0.0;
  PipelineScratch& scratch;
  PipelineEnds& ends;
};

void PipelineProgram::price(const std::vector<StageDuration>& stages, Seconds transfer,
                            const PairSavings& savings, State& state) const {
  std::vector<double>& durations = state.scratch.durations;
  durations.clear();
  double bound = crossings_ * transfer.value();
  for (std::size_t i = 0; i < durations_.size(); ++i) {
    const Duration& key = durations_[i];
    const auto stage = static_cast<std::size_t>(key.stage);
    const auto back = static_cast<std::size_t>(key.backward_stage);
    const bool saves = key.kind == TaskKind::kOverlapped && !savings.empty();
    Seconds time = saves ? stages[stage].forward + stages[back].backward -
                               savings[stage * stages.size() + back]
                         : task_duration({key.kind}, stages[stage], stages[back]);
    time += key.first ? stages[stage].first_extra : Seconds{};
    time += key.last ? stages[back].last_extra : Seconds{};
    durations.push_back(time.value());
    bound += uses_[i] * std::abs(time.value());
  }
  for (const StageDuration& stage : stages) {
    bound += stage.ready.value();
  }
  const Grid grid(bound);
  for (double& duration : durations) {
    duration = grid(Seconds(duration));
  }
  state.scratch.ready.clear();
  for (const StageDuration& stage : stages) {
    state.scratch.ready.push_back(grid(stage.ready));
  }
  state.transfer = grid(transfer);
}

// `offset`: of the outputs, from the round that the tasks were written for.
void PipelineProgram::execute(const std::vector<Task>& tasks, std::int64_t offset, State& state) {
  double* const outputs = state.scratch.outputs.data() + offset;
  const double* const durations = state.scratch.durations.data();
  for (const Task& task : tasks) {
    RankEnds& rank = state.ends.ranks[static_cast<std::size_t>(task.rank)];
    const double free = rank.end.value();
    double produced = 0.0;
    double arrived = 0.0;
    for (const Input& input : task.inputs) {
      if (input.slot >= 0) {
        const double made = outputs[input.slot];
        const double there = input.crosses ? made + state.transfer : made;
        if (there >= arrived) {
          produced = made;
          arrived = there;
        }
      }
    }
    arrived = std::max(free, arrived);
    double start = arrived;
    if (task.ready >= 0) {
      start = std::max(arrived, state.scratch.ready[static_cast<std::size_t>(task.ready)]);
      rank.parameters += Seconds(start - arrived);
    }
    if (arrived > free) {
      const double on_its_way = arrived - std::max(free, produced);
      rank.transfer += Seconds(on_its_way);
      rank.bubble += Seconds(arrived - free - on_its_way);
    }
    const double end = start + durations[task.duration];
    rank.end = Seconds(end);
    state.ends.chunk_end[static_cast<std::size_t>(task.chunk)] = rank.end;
    state.ends.chunk_end[static_cast<std::size_t>(task.other_chunk)] = rank.end;
    for (const std::int32_t made : task.outputs) {
      if (made >= 0) {
        outputs[made] = end;
      }
    }
  }
}

// Whether every rank and every output on its way is as it was a round ago, later by the same time.
bool PipelineProgram::repeats(const State& state, std::int64_t offset) const {
  const std::vector<double>& before = state.scratch.before;
  const double later = state.ends.ranks.front().end.value() - before.front();
  for (std::size_t rank = 1; rank < state.ends.ranks.size(); ++rank) {
    if (state.ends.ranks[rank].end.value() - before[3 * rank] != later) {
      return false;
    }
  }
  const double* const outputs = state.scratch.outputs.data() + offset;
  return std::all_of(live_.begin(), live_.end(), [&](std::int32_t output) {
    return outputs[output] - outputs[output - stride_] == later;
  });
}

// Runs rounds until they repeat; returns how many were run.
std::int64_t PipelineProgram::run_rounds(State& state) const {
  std::vector<double>& before = state.scratch.before;
  before.resize(3 * static_cast<std::size_t>(ranks_));
  for (std::int64_t done = 0; done < rounds_; ++done) {
    if (done > first_check_ && repeats(state, done * stride_)) {
      return done;
    }
    for (std::size_t rank = 0; rank < state.ends.ranks.size(); ++rank) {
      const RankEnds& ends = state.ends.ranks[rank];
      before[3 * rank] = ends.end.value();
      before[3 * rank + 1] = ends.bubble.value();
      before[3 * rank + 2] = ends.transfer.value();
    }
    execute(round_, done * stride_, state);
  }
  return rounds_;
}

PipelineEnds PipelineProgram::run(const std::vector<StageDuration>& stages, Seconds transfer,
                                  const PairSavings& savings, PipelineScratch& scratch) const {
  PipelineEnds ends;
  ends.ranks.resize(static_cast<std::size_t>(ranks_));
  ends.chunk_end.resize(static_cast<std::size_t>(ranks_ * chunks_));
  if (scratch.outputs.size() < static_cast<std::size_t>(outputs_)) {
    scratch.outputs.resize(static_cast<std::size_t>(outputs_));
  }
  State state{0.0, scratch, ends};
  price(stages, transfer, savings, state);
  execute(filling_, 0, state);
  const std::int64_t done = run_rounds(state);
  const std::int64_t left = rounds_ - done;
  std::vector<RankEnds> one_more;  // what one more round adds to each rank
  if (left > 0) {
    for (std::size_t rank = 0; rank < ends.ranks.size(); ++rank) {
      const RankEnds& now = ends.ranks[rank];
      one_more.push_back({now.bubble - Seconds(scratch.before[3 * rank + 1]),
                          now.transfer - Seconds(scratch.before[3 * rank + 2]), Seconds{},
                          now.end - Seconds(scratch.before[3 * rank])});
    }
  }
  execute(draining_, -left * stride_, state);
  if (left > 0) {
    const auto times = static_cast<double>(left);
    for (std::size_t rank = 0; rank < ends.ranks.size(); ++rank) {
      ends.ranks[rank].bubble += times * one_more[rank].bubble;
      ends.ranks[rank].transfer += times * one_more[rank].transfer;
      ends.ranks[rank].end += times * one_more[rank].end;
    }
    for (Seconds& end : ends.chunk_end) {
      end += times * one_more.front().end;
    }
  }
  return ends;
}

}  // namespace stepcast
