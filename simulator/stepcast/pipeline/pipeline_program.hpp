// SPDX-License-Identifier: Apache-2.0
// A pipeline's schedule as one sequence of tasks, and how that sequence repeats.
//
// Which task waits for which follows from the orders of the ranks alone, so the tasks of all ranks
// are put into a sequence once, each behind what it waits for; the times of a step follow in one
// pass over it, however long each task takes.
//
// Between filling and draining, the sequence repeats itself for each group of micro-batches. Times
// are a max-plus-linear function of those before, so once a round ends later than the round before
// by the same time on every rank, and every output on its way likewise, all rounds that are left
// repeat that (Baccelli et al., Synchronization and Linearity, 1992, chapter 3), and none is run.
//
// Where ranks, or groups of rounds, go at paces of their own for a while, the rounds are left out
// up to the one in which some task first waits for something else (steady_rounds.cpp).
//
// Times are kept on a grid of a power of two that is fine enough to hold all of them exactly, about
// 1e-15 of the step: sums and differences are exact, and leaving rounds out changes no bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stepcast/pipeline/pipeline_timeline.hpp"
#include "stepcast/pipeline/transfer_streams.hpp"

namespace stepcast {

// RankTimeline without its spans.
struct RankEnds {
  Seconds bubble;
  Seconds transfer;
  Seconds parameters;
  Seconds end;
};
struct PipelineEnds {
  std::vector<RankEnds> ranks;
  std::vector<Seconds> chunk_end;  // rank-major
};

// The durations that a run of the program works out the ends of its ranks from.
struct PipelineTimes {
  std::vector<StageDuration> stages;
  Seconds transfer;
  PairSavings savings{};
};

// Memory of a run, kept from run to run so that none is allocated anew: no run reads what another
// one left in it. All times are seconds on the grid of the run.
struct PipelineScratch {
  std::vector<double> outputs;        // when each output was made
  std::vector<double> durations;      // of PipelineProgram::durations_
  std::vector<double> ready;          // when the parameters of each stage are there
  double transfer = 0.0;              // what one transfer takes
  std::vector<double> free;           // when each rank has ended its last task so far
  std::vector<double> waited;         // how long each rank has waited for transfers
  std::vector<double> parameters;     // how long each rank has waited for parameters
  TransferStreams<double> streams;    // of transfers in order
  std::vector<double> closed;         // when each chunk, rank-major, has ended its last task
  std::vector<double> free_before;    // `free` a round ago
  std::vector<double> waited_before;  // `waited` a round ago
  std::vector<double> history;        // of the rounds that steady_rounds.cpp looks at
};

class PipelineProgram {
 public:
  // Throws InternalError if the orders wait for each other.
  PipelineProgram(Schedule schedule, const PipelineShape& shape,
                  const std::vector<RankOrder>& orders,
                  PipelineTransfers transfers = PipelineTransfers::kFree);

  // As pipeline_timeline, to 1e-11 of the step. With `more_rounds` the steady state is that much
  // longer: the step has more micro-batches than those that the program was made for.
  [[nodiscard]] PipelineEnds run(const PipelineTimes& times, PipelineScratch& scratch,
                                 std::int64_t more_rounds = 0) const;
  // Rounds of each stretch of the steady state; 0 where the sequence does not repeat.
  [[nodiscard]] std::int64_t rounds() const { return steady_.empty() ? 0 : steady_.front().rounds; }
  // Micro-batches that each chunk runs in a round.
  [[nodiscard]] std::int64_t micro_batches_of_round() const {
    return steady_.empty() ? 0 : steady_.front().stride / (2 * stages_);
  }
  // Tasks of all ranks together in a round of each stretch.
  [[nodiscard]] std::int64_t tasks_of_round() const;
  [[nodiscard]] std::size_t tasks_kept() const;

 private:
  // Most tasks wait for one output of another rank and make one. What only few tasks have is in
  // `specials_`, so that a task stays small.
  struct Task {
    std::int32_t input = kNone;
    std::int32_t output = kNone;
    std::int16_t rank = 0;
    std::int16_t duration = 0;     // place in durations_
    std::int32_t special = kNone;  // place in specials_
  };
  struct Special {
    std::int32_t other_input = kNone;  // of the backward, where forward and backward are paired
    std::int32_t other_output = kNone;
    std::int32_t ready = kNone;   // the stage whose parameters a first forward waits for
    std::int32_t closes = kNone;  // rank-major: the chunk of which the task is the last
    std::int32_t other_closes = kNone;
    std::size_t transfers_begin = 0;  // those right behind the task, where they are in order
    std::size_t transfers_end = 0;
  };
  static constexpr std::int32_t kNone = -1;
  // All that the duration of a task depends on.
  struct Duration {
    TaskKind kind = TaskKind::kForward;
    std::int32_t stage = 0;
    std::int32_t backward_stage = 0;
    bool first = false;
    bool last = false;
    bool operator==(const Duration&) const = default;
  };
  // How often a rank runs tasks of a duration in a step.
  struct Use {
    std::int32_t rank = 0;
    std::int32_t duration = 0;
    double times = 0.0;
    double in_round = 0.0;
  };
  // Equal rounds, and the tasks that come before them: behind the stretch before, which hands no
  // outputs to other ranks beyond its own end.
  struct Stretch {
    std::vector<Task> filling;
    std::vector<Task> round;
    std::int64_t rounds = 0;
    std::int64_t stride = 0;         // from an output to the same one of the next round
    std::int64_t first_check = 1;    // rounds after which every live output has one before it
    std::vector<std::int32_t> live;  // outputs that cross the boundary before the first round
  };
  class Compiler;
  class SteadyRounds;

  void price(const PipelineTimes& times, std::int64_t more_rounds, PipelineScratch& scratch) const;
  void execute(std::span<const Task> tasks, std::int64_t offset, PipelineScratch& scratch) const;
  void execute_special(const Task& task, double* outputs, PipelineScratch& scratch) const;
  void carry(const Special& special, double* outputs, PipelineScratch& scratch) const;
  // Brings the times to where they are `rounds` rounds of `stretch` later; returns how many of them
  // it ran.
  std::int64_t run_rounds(const Stretch& stretch, std::int64_t rounds,
                          PipelineScratch& scratch) const;
  [[nodiscard]] PipelineEnds ends_of(const PipelineScratch& scratch,
                                     std::int64_t more_rounds) const;

  std::int64_t stages_ = 0;
  std::int64_t ranks_ = 0;
  std::int64_t chunks_ = 0;
  std::int64_t outputs_ = 0;     // of all micro-batches that the program was made for
  std::vector<Stretch> steady_;  // in order
  std::vector<Task> draining_;   // all tasks, where nothing repeats
  std::vector<Special> specials_;
  PipelineTransfers order_ = PipelineTransfers::kFree;
  std::vector<SequencedTransfer> transfers_;  // in their order
  std::vector<Duration> durations_;
  std::vector<Use> uses_;  // by rank
  double crossings_ = 0.0;
  double crossings_of_round_ = 0.0;
};

}  // namespace stepcast
