// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_program.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "stepcast/base/hash.hpp"
#include "stepcast/pipeline/pipeline_sequence.hpp"

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
  const double free = scratch.free[rank];
  double start = free;
  if (order_ == PipelineTransfers::kStepped) {
    start = std::max(start, scratch.streams.ended(rank));
  }
  if (task.input != kNone || special.other_input != kNone) {
    double made = task.input != kNone ? outputs[task.input] : 0.0;
    made = special.other_input != kNone ? std::max(made, outputs[special.other_input]) : made;
    const double arrived = order_ == PipelineTransfers::kFree ? made + scratch.transfer : made;
    scratch.waited[rank] += std::clamp(arrived - free, 0.0, scratch.transfer);
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
  carry(special, outputs, scratch);
}

// Of outputs that another rank reads, what is kept is when they arrive.
void PipelineProgram::carry(const Special& special, double* outputs,
                            PipelineScratch& scratch) const {
  for (std::size_t i = special.transfers_begin; i < special.transfers_end; ++i) {
    const SequencedTransfer& transfer = transfers_[i];
    const double start =
        scratch.streams.start(transfer, scratch.free[static_cast<std::size_t>(transfer.from)],
                              scratch.free[static_cast<std::size_t>(transfer.to)]);
    outputs[transfer.output] = start + scratch.transfer;
    scratch.streams.end(transfer, start + scratch.transfer);
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
  scratch.streams.reset(ranks);
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

// From the orders of the ranks to a program: which task waits for which output, how long each takes
// and what crosses from one round of the steady state to the next.
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
    for (std::size_t i = 0; i < sequence.tasks.size(); ++i) {
      note_producers(sequence.tasks[i], i);
    }
    std::size_t behind = 0;  // the stretches so far
    for (const SteadyStretch& steady : sequence.steady) {
      Stretch stretch;
      stretch.rounds = steady.rounds;
      stretch.stride = steady.micro_batches * numbers_.stride();
      stretch.filling = compiled(sequence, behind, steady.begin);
      in_round_ = true;
      stretch.round = compiled(sequence, steady.begin, steady.begin + steady.round,
                               static_cast<double>(steady.rounds));
      in_round_ = false;
      behind = steady.end();
      program_.steady_.push_back(std::move(stretch));
    }
    program_.draining_ = compiled(sequence, behind, sequence.tasks.size());
    note_live(sequence);
    std::ranges::sort(program_.uses_, [](const Use& a, const Use& b) {
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
  // The tasks at places begin <= i < end, each of which stands for `times` tasks of the step.
  std::vector<Task> compiled(const PipelineSequence& sequence, std::size_t begin, std::size_t end,
                             double times = 1.0) {
    std::vector<Task> tasks;
    tasks.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      tasks.push_back(compiled(sequence, i, times));
    }
    return tasks;
  }
  Task compiled(const PipelineSequence& sequence, std::size_t place, double times) {
    const SequencedTask& placed = sequence.tasks[place];
    const PipelineTask& from = task_at(placed);
    const auto rank = static_cast<std::size_t>(placed.rank);
    const bool pair = from.kind == TaskKind::kOverlapped;
    const std::size_t chunk = chunk_of(rank, from.chunk);
    const std::size_t other = pair ? chunk_of(rank, from.backward_chunk) : chunk;
    const Duration duration = duration_of(from, placed.position, chunk, other);
    const TaskLinks linked = links(placed);
    Task task;
    task.rank = static_cast<std::int16_t>(placed.rank);
    task.duration = static_cast<std::int16_t>(number_of(placed.rank, duration, times));
    task.input = awaited(linked.inputs[0], placed.rank, times);
    task.output = linked.outputs[0];
    Special special;
    if (pair) {
      special.other_input = awaited(linked.inputs[1], placed.rank, times);
      special.other_output = linked.outputs[1];
    }
    special.ready = duration.first ? duration.stage : kNone;
    if (chunks_[chunk].last == placed.position) {
      special.closes = static_cast<std::int32_t>(chunk);
    }
    if (chunks_[other].last == placed.position) {
      special.other_closes = static_cast<std::int32_t>(other);
    }
    special.transfers_begin = transfers_;
    while (transfers_ < sequence.transfers.size() &&
           sequence.transfers[transfers_].behind == place + 1) {
      ++transfers_;
    }
    special.transfers_end = transfers_;
    if (pair || duration.first || program_.order_ != PipelineTransfers::kFree ||
        special.closes != kNone || special.other_closes != kNone) {
      task.special = static_cast<std::int32_t>(program_.specials_.size());
      program_.specials_.push_back(special);
    }
    return task;
  }

  // An input if another rank makes it: what the rank itself made is there, for it ran before.
  std::int32_t awaited(std::int32_t input, std::int32_t rank, double times) {
    if (input == kNone || producers_[static_cast<std::size_t>(input)].rank == rank) {
      return kNone;
    }
    program_.crossings_ += times;
    program_.crossings_of_round_ += in_round_ ? 1.0 : 0.0;
    return input;
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

  void note_live(const PipelineSequence& sequence) {
    for (std::size_t i = 0; i < program_.steady_.size(); ++i) {
      const bool last = i + 1 == program_.steady_.size();
      note_live(sequence.steady[i], last ? program_.draining_ : program_.steady_[i + 1].filling,
                program_.steady_[i]);
    }
  }
  // Outputs that tasks behind a boundary between rounds read and tasks before it made: numbered as
  // at the boundary before the first round. `next`: the tasks behind the last round.
  void note_live(const SteadyStretch& steady, const std::vector<Task>& next, Stretch& stretch) {
    std::vector<std::int32_t>& live = stretch.live;
    const auto note = [&](std::int32_t input, std::int64_t rounds_before) {
      const auto boundary = steady.begin + static_cast<std::size_t>(rounds_before) * steady.round;
      if (input != kNone && producers_[static_cast<std::size_t>(input)].place < boundary) {
        live.push_back(static_cast<std::int32_t>(input - rounds_before * stretch.stride));
      }
    };
    const auto note_all = [&](const std::vector<Task>& tasks, std::int64_t rounds_before) {
      for (const Task& task : tasks) {
        note(task.input, rounds_before);
        if (task.special != kNone) {
          note(program_.specials_[static_cast<std::size_t>(task.special)].other_input,
               rounds_before);
        }
      }
    };
    note_all(stretch.round, 0);
    note_all(next, steady.rounds);
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    while (!live.empty() && live.front() + (stretch.first_check - 1) * stretch.stride < 0) {
      ++stretch.first_check;
    }
  }

  struct Hash {
    std::size_t operator()(const Duration& d) const {
      const auto& [kind, stage, backward_stage, first, last] = d;
      return hash_of_values(kind, stage, backward_stage, first, last);
    }
  };

  const std::vector<RankOrder>& orders_;
  PipelineProgram& program_;
  OutputNumbers numbers_;
  std::vector<Chunk> chunks_;  // rank-major
  std::vector<Producer> producers_;
  std::size_t transfers_ = 0;  // of the sequence so far
  bool in_round_ = false;
  std::unordered_map<Duration, std::int32_t, Hash> numbers_of_durations_;
  std::unordered_map<std::size_t, std::size_t> uses_;  // rank and duration -> place in uses_
};

PipelineProgram::PipelineProgram(Schedule schedule, const PipelineShape& shape,
                                 const std::vector<RankOrder>& orders, PipelineTransfers transfers)
    : stages_(stage_count(shape)),
      ranks_(shape.ranks),
      chunks_(chunks_per_rank(schedule, shape)),
      outputs_(2 * stage_count(shape) * shape.micro_batches),
      order_(transfers) {
  PipelineSequence sequence = pipeline_sequence(schedule, shape, orders, transfers);
  Compiler(schedule, shape, orders, *this).compile(sequence);
  transfers_ = std::move(sequence.transfers);
}

}  // namespace stepcast
