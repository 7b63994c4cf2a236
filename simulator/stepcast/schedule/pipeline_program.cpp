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
        chunks_.push_back({stage_on(schedule, shape, rank, chunk)});
      }
      note_ends(static_cast<std::size_t>(rank));
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
      note_producers(sequence.tasks[i], i);
    }
    const auto add = [&](std::size_t begin, std::size_t end, double times,
                         std::vector<Task>& tasks) {
      tasks.reserve(end - begin);
      for (std::size_t i = begin; i < end; ++i) {
        tasks.push_back(compiled(sequence.tasks[i], times));
      }
    };
    add(0, sequence.filling, 1.0, program_.filling_);
    in_round_ = true;
    add(sequence.filling, round_end, static_cast<double>(sequence.rounds), program_.round_);
    in_round_ = false;
    add(draining, sequence.tasks.size(), 1.0, program_.draining_);
    if (sequence.rounds > 0) {
      note_live(sequence);
    }
    std::sort(program_.uses_.begin(), program_.uses_.end(), [](const Use& a, const Use& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.duration < b.duration;
    });
  }

 private:
  static constexpr std::int64_t kNowhere = -1;
  // A chunk of a rank, and where its ends are in the rank's order.
  struct Chunk {
    std::int64_t stage = 0;
    std::int64_t first_forward = kNowhere;
    std::int64_t last_backward = kNowhere;
    std::int64_t last = kNowhere;
  };
  struct Producer {
    std::int32_t rank = 0;
    std::size_t place = 0;  // in the sequence
  };

  [[nodiscard]] std::size_t chunk_of(std::size_t rank, std::int32_t chunk) const {
    return rank * static_cast<std::size_t>(program_.chunks_) + static_cast<std::size_t>(chunk);
  }
  [[nodiscard]] const PipelineTask& task_at(const SequencedTask& placed) const {
    return orders_[static_cast<std::size_t>(placed.rank)]
                  [static_cast<std::size_t>(placed.position)];
  }

  void note_ends(std::size_t rank) {
    const RankOrder& order = orders_[rank];
    for (std::int64_t i = 0; i < std::ssize(order); ++i) {
      const PipelineTask& task = order[static_cast<std::size_t>(i)];
      const bool pair = task.kind == TaskKind::kOverlapped;
      Chunk& chunk = chunks_[chunk_of(rank, task.chunk)];
      if ((task.kind == TaskKind::kForward || pair) && chunk.first_forward == kNowhere) {
        chunk.first_forward = i;
      }
      chunk.last = i;
      Chunk& back = pair ? chunks_[chunk_of(rank, task.backward_chunk)] : chunk;
      if (activation_change(task).returned != kNoChunk) {
        back.last_backward = i;
      }
      back.last = i;
    }
  }

  void note_producers(const SequencedTask& placed, std::size_t place) {
    const TaskLinks made_by = links(placed);
    for (const std::int32_t made : made_by.outputs) {
      if (made >= 0) {
        producers_[static_cast<std::size_t>(made)] = {placed.rank, place};
      }
    }
  }
  [[nodiscard]] TaskLinks links(const SequencedTask& placed) const {
    const PipelineTask& from = task_at(placed);
    const auto rank = static_cast<std::size_t>(placed.rank);
    return links_of(from, chunks_[chunk_of(rank, from.chunk)].stage,
                    chunks_[chunk_of(rank, from.backward_chunk)].stage, numbers_);
  }
  [[nodiscard]] bool crosses(std::int32_t input, std::int32_t rank) const {
    return producers_[static_cast<std::size_t>(input)].rank != rank;
  }

  // `times`: how often it stands for a task of the step.
  Task compiled(const SequencedTask& placed, double times) {
    const PipelineTask& from = task_at(placed);
    const auto rank = static_cast<std::size_t>(placed.rank);
    const bool pair = from.kind == TaskKind::kOverlapped;
    const std::size_t chunk = chunk_of(rank, from.chunk);
    const std::size_t other = pair ? chunk_of(rank, from.backward_chunk) : chunk;
    const Duration duration = duration_of(from, placed.position, chunk, other);
    const TaskLinks linked = links(placed);
    Task task;
    task.rank = placed.rank;
    task.duration = number_of(placed.rank, duration, times);
    // What the rank itself made is there: it ran before.
    if (linked.inputs[0] >= 0 && crosses(linked.inputs[0], placed.rank)) {
      task.input = linked.inputs[0];
      task.flags |= kWaits;
    }
    if (linked.outputs[0] >= 0) {
      task.output = linked.outputs[0];
      task.flags |= kMakes;
    }
    if (pair) {
      task.other_output = linked.outputs[1];
      task.flags |= kPaired;
      if (crosses(linked.inputs[1], placed.rank)) {
        task.other_input = linked.inputs[1];
        task.flags |= kOtherWaits;
      }
    }
    if (duration.first) {
      task.ready = duration.stage;
      task.flags |= kFirst;
    }
    const bool closes = chunks_[chunk].last == placed.position;
    const bool closes_other = chunks_[other].last == placed.position;
    if (closes || closes_other) {
      task.chunk = static_cast<std::int32_t>(closes ? chunk : other);
      task.other_chunk = static_cast<std::int32_t>(closes_other ? other : chunk);
      task.flags |= kCloses;
    }
    const double crossed =
        ((task.flags & kWaits) != 0 ? 1.0 : 0.0) + ((task.flags & kOtherWaits) != 0 ? 1.0 : 0.0);
    program_.crossings_ += times * crossed;
    program_.crossings_of_round_ += in_round_ ? crossed : 0.0;
    return task;
  }

  // The first forward of a chunk on its rank waits for parameters, the last backward reduces.
  [[nodiscard]] Duration duration_of(const PipelineTask& task, std::int64_t position,
                                     std::size_t chunk, std::size_t other) const {
    Duration duration{task.kind, static_cast<std::int32_t>(chunks_[chunk].stage),
                      static_cast<std::int32_t>(chunks_[other].stage)};
    duration.first = position == chunks_[chunk].first_forward;
    duration.last = position == chunks_[other].last_backward;
    return duration;
  }

  std::int32_t number_of(std::int32_t rank, const Duration& duration, double times) {
    const auto next = static_cast<std::int32_t>(program_.durations_.size());
    const auto [known, fresh] = numbers_of_durations_.try_emplace(duration, next);
    if (fresh) {
      program_.durations_.push_back(duration);
    }
    const std::size_t key =
        static_cast<std::size_t>(rank) * 65536U + static_cast<std::size_t>(known->second);
    const auto [use, first_use] = uses_.try_emplace(key, program_.uses_.size());
    if (first_use) {
      program_.uses_.push_back({rank, known->second});
    }
    program_.uses_[use->second].times += times;
    program_.uses_[use->second].in_round += in_round_ ? 1.0 : 0.0;
    return known->second;
  }

  // Outputs that tasks behind a boundary between rounds read and tasks before it made: numbered as
  // at the boundary before the first round.
  void note_live(const PipelineSequence& sequence) {
    std::vector<std::int32_t>& live = program_.live_;
    const auto note = [&](std::int32_t input, std::int64_t rounds_before) {
      const auto boundary =
          sequence.filling + static_cast<std::size_t>(rounds_before) * sequence.round;
      if (producers_[static_cast<std::size_t>(input)].place < boundary) {
        live.push_back(static_cast<std::int32_t>(input - rounds_before * program_.stride_));
      }
    };
    const auto note_all = [&](const std::vector<Task>& tasks, std::int64_t rounds_before) {
      for (const Task& task : tasks) {
        if ((task.flags & kWaits) != 0) {
          note(task.input, rounds_before);
        }
        if ((task.flags & kOtherWaits) != 0) {
          note(task.other_input, rounds_before);
        }
      }
    };
    note_all(program_.round_, 0);
    note_all(program_.draining_, sequence.rounds);
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    while (!live.empty() && live.front() + (program_.first_check_ - 1) * program_.stride_ < 0) {
      ++program_.first_check_;
    }
  }

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

  const std::vector<RankOrder>& orders_;
  PipelineProgram& program_;
  OutputNumbers numbers_;
  std::vector<Chunk> chunks_;  // rank-major
  std::vector<Producer> producers_;
  bool in_round_ = false;
  std::unordered_map<Duration, std::int32_t, Hash> numbers_of_durations_;
  std::unordered_map<std::size_t, std::size_t> uses_;  // rank and duration -> place in uses_
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
  PipelineScratch& scratch;
  double more_rounds = 0.0;
  double transfer = 0.0;
};

void PipelineProgram::price(const std::vector<StageDuration>& stages, Seconds transfer,
                            const PairSavings& savings, State& state) const {
  std::vector<double>& durations = state.scratch.durations;
  durations.clear();
  for (const Duration& key : durations_) {
    const auto stage = static_cast<std::size_t>(key.stage);
    const auto back = static_cast<std::size_t>(key.backward_stage);
    const bool saves = key.kind == TaskKind::kOverlapped && !savings.empty();
    Seconds time = saves ? stages[stage].forward + stages[back].backward -
                               savings[stage * stages.size() + back]
                         : task_duration({key.kind}, stages[stage], stages[back]);
    time += key.first ? stages[stage].first_extra : Seconds{};
    time += key.last ? stages[back].last_extra : Seconds{};
    durations.push_back(time.value());
  }
  double bound = (crossings_ + state.more_rounds * crossings_of_round_) * transfer.value();
  for (const Use& use : uses_) {
    bound += (use.times + state.more_rounds * use.in_round) *
             std::abs(durations[static_cast<std::size_t>(use.duration)]);
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
  constexpr std::uint8_t kSpecial = kPaired | kFirst | kCloses;
  double* const outputs = state.scratch.outputs.data() + offset;
  double* const free = state.scratch.free.data();
  double* const waited = state.scratch.transfer.data();
  const double* const durations = state.scratch.durations.data();
  for (const Task& task : tasks) {
    if ((task.flags & kSpecial) != 0) {
      execute_special(task, outputs, state);
      continue;
    }
    double start = free[task.rank];
    if ((task.flags & kWaits) != 0) {
      const double made = outputs[task.input];
      const double arrived = made + state.transfer;
      waited[task.rank] += std::max(0.0, arrived - std::max(start, made));
      start = std::max(start, arrived);
    }
    const double end = start + durations[task.duration];
    free[task.rank] = end;
    if ((task.flags & kMakes) != 0) {
      outputs[task.output] = end;
    }
  }
}

void PipelineProgram::execute_special(const Task& task, double* outputs, State& state) {
  PipelineScratch& scratch = state.scratch;
  const auto rank = static_cast<std::size_t>(task.rank);
  const double free = scratch.free[rank];
  double made = 0.0;
  double arrived = 0.0;
  const auto take = [&](std::int32_t input) {
    made = std::max(made, outputs[input]);
    arrived = made + state.transfer;
  };
  if ((task.flags & kWaits) != 0) {
    take(task.input);
  }
  if ((task.flags & kOtherWaits) != 0) {
    take(task.other_input);
  }
  scratch.transfer[rank] += std::max(0.0, arrived - std::max(free, made));
  arrived = std::max(free, arrived);
  double start = arrived;
  if ((task.flags & kFirst) != 0) {
    start = std::max(arrived, scratch.ready[static_cast<std::size_t>(task.ready)]);
    scratch.parameters[rank] += start - arrived;
  }
  const double end = start + scratch.durations[static_cast<std::size_t>(task.duration)];
  scratch.free[rank] = end;
  if ((task.flags & kMakes) != 0) {
    outputs[task.output] = end;
  }
  if ((task.flags & kPaired) != 0) {
    outputs[task.other_output] = end;
  }
  if ((task.flags & kCloses) != 0) {
    scratch.closed[static_cast<std::size_t>(task.chunk)] = end;
    scratch.closed[static_cast<std::size_t>(task.other_chunk)] = end;
  }
}

// Whether every rank and every output on its way is as it was a round ago, later by the same time.
bool PipelineProgram::repeats(const State& state, std::int64_t offset) const {
  const PipelineScratch& scratch = state.scratch;
  const double later = scratch.free.front() - scratch.free_before.front();
  for (std::size_t rank = 1; rank < scratch.free.size(); ++rank) {
    if (scratch.free[rank] - scratch.free_before[rank] != later) {
      return false;
    }
  }
  const double* const outputs = scratch.outputs.data() + offset;
  return std::all_of(live_.begin(), live_.end(), [&](std::int32_t output) {
    return outputs[output] - outputs[output - stride_] == later;
  });
}

// Runs rounds until they repeat; returns how many were run.
std::int64_t PipelineProgram::run_rounds(std::int64_t rounds, State& state) const {
  PipelineScratch& scratch = state.scratch;
  for (std::int64_t done = 0; done < rounds; ++done) {
    if (done >= first_check_ && repeats(state, done * stride_)) {
      return done;
    }
    scratch.free_before = scratch.free;
    scratch.transfer_before = scratch.transfer;
    execute(round_, done * stride_, state);
  }
  return rounds;
}

PipelineEnds PipelineProgram::run(const std::vector<StageDuration>& stages, Seconds transfer,
                                  const PairSavings& savings, PipelineScratch& scratch,
                                  std::int64_t more_rounds) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  for (std::vector<double>* of_rank : {&scratch.free, &scratch.transfer, &scratch.parameters}) {
    of_rank->assign(ranks, 0.0);
  }
  scratch.closed.assign(ranks * static_cast<std::size_t>(chunks_), 0.0);
  const auto outputs = static_cast<std::size_t>(outputs_ + more_rounds * stride_);
  if (scratch.outputs.size() < outputs) {
    scratch.outputs.resize(outputs);
  }
  State state{scratch, static_cast<double>(more_rounds)};
  price(stages, transfer, savings, state);
  execute(filling_, 0, state);
  const std::int64_t done = run_rounds(rounds_ + more_rounds, state);
  const std::int64_t left = rounds_ + more_rounds - done;
  // What the rounds that are left add; a chunk ends while draining.
  double later = 0.0;
  if (left > 0) {
    const auto times = static_cast<double>(left);
    later = times * (scratch.free.front() - scratch.free_before.front());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      scratch.transfer[rank] += times * (scratch.transfer[rank] - scratch.transfer_before[rank]);
    }
  }
  execute(draining_, (done - rounds_) * stride_, state);
  for (double& end : scratch.free) {
    end += later;
  }
  for (double& end : scratch.closed) {
    end += later;
  }
  return ends_of(state);
}

// A rank is idle when it neither computes nor waits for a transfer or for parameters.
PipelineEnds PipelineProgram::ends_of(const State& state) const {
  const PipelineScratch& scratch = state.scratch;
  PipelineEnds ends;
  ends.ranks.reserve(scratch.free.size());
  auto use = uses_.begin();
  for (std::size_t rank = 0; rank < scratch.free.size(); ++rank) {
    double busy = 0.0;
    for (; use != uses_.end() && static_cast<std::size_t>(use->rank) == rank; ++use) {
      busy += (use->times + state.more_rounds * use->in_round) *
              scratch.durations[static_cast<std::size_t>(use->duration)];
    }
    const double bubble =
        scratch.free[rank] - busy - scratch.transfer[rank] - scratch.parameters[rank];
    ends.ranks.push_back({Seconds(bubble), Seconds(scratch.transfer[rank]),
                          Seconds(scratch.parameters[rank]), Seconds(scratch.free[rank])});
  }
  ends.chunk_end.reserve(scratch.closed.size());
  for (const double end : scratch.closed) {
    ends.chunk_end.emplace_back(end);
  }
  return ends;
}

}  // namespace stepcast
