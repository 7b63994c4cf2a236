// SPDX-License-Identifier: Apache-2.0
// The equal rounds of a pipeline's steady state, of which few are run.
//
// A time of a round is a time of the round before or the latest of two, and a duration later. As
// long as each task waits for the same of the two, the times of a group of rounds are an affine
// function of those of the group before: if every time moved on by as much as in the group before,
// it goes on doing so, each at its own pace, until at some task what was later is overtaken. How
// many groups that takes is known from how fast the gap between the two closes, so the groups up to
// then are left out. All sums are exact (pipeline_program.hpp): not a bit differs.
//
// One round is a group where all ranks keep step. Groups of several rounds are needed where the
// round trip of a micro-batch takes longer than the tasks of a rank meanwhile: ranks then run a
// burst and wait. Paces of their own are those of GPipe, whose forwards nothing holds back.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "stepcast/pipeline/pipeline_program.hpp"

namespace stepcast {
namespace {

// Most steady states are found within as many rounds as the pipeline takes to fill, without a
// history.
constexpr std::int64_t kRoundsBeforeHistory = 8;
constexpr std::int64_t kLargestHistory = 1 << 22;  // numbers
constexpr std::int64_t kFirstLook = 3;             // rows: the least that tell a pace

// One of two times that a task waits for is later by `before`, a group later by `now`: for how many
// more groups the same one stays the later of both, at most `most`.
std::int64_t groups_until_overtaken(double before, double now, std::int64_t most) {
  if ((before < 0.0 && now > 0.0) || (before > 0.0 && now < 0.0)) {
    return 0;
  }
  const double pace = now - before;
  if (pace == 0.0 || (now > 0.0 && pace > 0.0) || (now < 0.0 && pace < 0.0)) {
    return most;
  }
  // One less, for the quotient is rounded.
  const double groups = std::floor(std::abs(now) / std::abs(pace)) - 1.0;
  return groups < static_cast<double>(most) ? static_cast<std::int64_t>(std::max(0.0, groups))
                                            : most;
}

// What a task waits for: until its rank is free, and for two outputs of other ranks.
struct Awaited {
  double free = 0.0;
  double one = 0.0;
  double other = 0.0;

  [[nodiscard]] double made() const { return std::max(one, other); }
};
constexpr std::int64_t kAwaited = 3;

}  // namespace

class PipelineProgram::SteadyRounds {
 public:
  SteadyRounds(const PipelineProgram& program, const Stretch& stretch, PipelineScratch& scratch);

  // Brings the times to where they are `rounds` rounds later; returns how many of them it ran.
  std::int64_t run(std::int64_t rounds);

 private:
  [[nodiscard]] double* outputs(std::int64_t rounds_ago = 0) const {
    return scratch_.outputs.data() + (done_ - rounds_ago) * stretch_.stride;
  }
  [[nodiscard]] bool repeats() const;
  void begin_round();
  void end_round();
  void run_round();
  // The same, and adds a row to the history: when each rank was free behind the round, how long it
  // had waited by then, and what each task of the round waited for.
  void run_noted_round();
  [[nodiscard]] std::int32_t other_input(const Task& task) const;  // kNone: it has none
  [[nodiscard]] std::int64_t width_of_row() const;
  // The row of the round that was run `rounds_ago` before the last one.
  [[nodiscard]] const double* row(std::int64_t rounds_ago) const {
    return scratch_.history.data() + (rows_ - 1 - rounds_ago) * width_;
  }
  // Leaves out as many groups of rounds as are known to be like the last one.
  void leave_out_known();
  // How many groups of `size` rounds are; 0: none, or it is not known.
  [[nodiscard]] std::int64_t known_groups(std::int64_t size) const;
  // Whether the last two groups moved everything by the same.
  [[nodiscard]] bool moves_evenly(std::int64_t size) const;
  // Goes on by `groups` groups of `size` rounds, before which the ranks were at `free` and
  // `waited`.
  void leave_out(std::int64_t size, std::int64_t groups, const double* free, const double* waited);

  const PipelineProgram& program_;
  const Stretch& stretch_;
  PipelineScratch& scratch_;
  std::int64_t ranks_;
  std::int64_t done_ = 0;
  std::int64_t left_ = 0;
  std::int64_t since_ = 0;  // rounds run since some were left out
  std::int64_t width_ = 0;  // of a row of the history: once it is kept
  std::int64_t rows_ = 0;
  std::int64_t next_look_ = 0;  // at so many rows
};

PipelineProgram::SteadyRounds::SteadyRounds(const PipelineProgram& program, const Stretch& stretch,
                                            PipelineScratch& scratch)
    : program_(program), stretch_(stretch), scratch_(scratch), ranks_(program.ranks_) {}

std::int64_t PipelineProgram::SteadyRounds::run(std::int64_t rounds) {
  left_ = rounds;
  const std::int64_t quiet = stretch_.first_check + ranks_ + kRoundsBeforeHistory;
  while (left_ > 0) {
    if (since_ >= stretch_.first_check && repeats()) {
      leave_out(1, left_, scratch_.free_before.data(), scratch_.waited_before.data());
      break;
    }
    if (done_ < quiet) {
      run_round();
      continue;
    }
    width_ = width_ == 0 ? width_of_row() : width_;
    run_noted_round();
    const bool full = rows_ >= kFirstLook && (rows_ + 1) * width_ > kLargestHistory;
    if (full || rows_ >= next_look_) {
      leave_out_known();
    }
    rows_ = full ? 0 : rows_;
    next_look_ = rows_ == 0 ? kFirstLook : next_look_;
  }
  return done_;
}

// Whether every rank and every output on its way is as it was a round ago, later by the same time.
bool PipelineProgram::SteadyRounds::repeats() const {
  const std::vector<double>& free = scratch_.free;
  const double later = free.front() - scratch_.free_before.front();
  for (std::size_t rank = 1; rank < free.size(); ++rank) {
    if (free[rank] - scratch_.free_before[rank] != later) {
      return false;
    }
  }
  const double* const now = outputs();
  const double* const before = outputs(1);
  return std::ranges::all_of(
      stretch_.live, [&](std::int32_t output) { return now[output] - before[output] == later; });
}

void PipelineProgram::SteadyRounds::begin_round() {
  const std::int64_t more = std::max<std::int64_t>(0, done_ + 1 - stretch_.rounds);
  const auto outputs = static_cast<std::size_t>(program_.outputs_ + more * stretch_.stride);
  if (scratch_.outputs.size() < outputs) {
    scratch_.outputs.resize(outputs);
  }
  scratch_.free_before = scratch_.free;
  scratch_.waited_before = scratch_.waited;
}

void PipelineProgram::SteadyRounds::end_round() {
  ++done_;
  ++since_;
  --left_;
}

void PipelineProgram::SteadyRounds::run_round() {
  begin_round();
  program_.execute(stretch_.round, done_ * stretch_.stride, scratch_);
  end_round();
}

void PipelineProgram::SteadyRounds::run_noted_round() {
  begin_round();
  const std::int64_t start = rows_ * width_;
  if (std::ssize(scratch_.history) < start + width_) {
    scratch_.history.resize(static_cast<std::size_t>(start + width_));
  }
  double* row = scratch_.history.data() + start + 2 * ranks_;
  const double* const made = outputs();
  for (const Task& task : stretch_.round) {
    const std::int32_t other = other_input(task);
    if (task.input != kNone || other != kNone) {
      const std::int32_t one = task.input != kNone ? task.input : other;
      *row++ = scratch_.free[static_cast<std::size_t>(task.rank)];
      *row++ = made[one];
      *row++ = made[other != kNone ? other : one];
    }
    program_.execute({&task, 1}, done_ * stretch_.stride, scratch_);
  }
  row = scratch_.history.data() + start;
  std::copy(scratch_.waited.begin(), scratch_.waited.end(),
            std::copy(scratch_.free.begin(), scratch_.free.end(), row));
  ++rows_;
  end_round();
}

std::int32_t PipelineProgram::SteadyRounds::other_input(const Task& task) const {
  return task.special == kNone
             ? kNone
             : program_.specials_[static_cast<std::size_t>(task.special)].other_input;
}

std::int64_t PipelineProgram::SteadyRounds::width_of_row() const {
  return 2 * ranks_ + kAwaited * std::ranges::count_if(stretch_.round, [this](const Task& task) {
                        return task.input != kNone || other_input(task) != kNone;
                      });
}

void PipelineProgram::SteadyRounds::leave_out_known() {
  for (std::int64_t size = 1; 3 * size <= rows_; ++size) {
    if (const std::int64_t groups = known_groups(size); groups > 0) {
      leave_out(size, groups, row(size), row(size) + ranks_);
      rows_ = 0;
      return;
    }
  }
  next_look_ = rows_ + std::max(kFirstLook, rows_ / 2);
}

bool PipelineProgram::SteadyRounds::moves_evenly(std::int64_t size) const {
  const auto evenly = [](double now, double before, double long_before) {
    return now - before == before - long_before;
  };
  // First what tells most uneven groups.
  if (!evenly(row(0)[0], row(size)[0], row(2 * size)[0])) {
    return false;
  }
  for (std::int64_t i = 0; i < size * width_; ++i) {
    // The rows of a group stand one behind the other.
    if (!evenly(row(size - 1)[i], row(2 * size - 1)[i], row(3 * size - 1)[i])) {
      return false;
    }
  }
  return std::ranges::all_of(stretch_.live, [&](std::int32_t output) {
    return evenly(outputs()[output], outputs(size)[output], outputs(2 * size)[output]);
  });
}

std::int64_t PipelineProgram::SteadyRounds::known_groups(std::int64_t size) const {
  if (since_ < 2 * size + stretch_.first_check || !moves_evenly(size)) {
    return 0;
  }
  std::int64_t groups = left_ / size;
  for (std::int64_t ago = 0; ago < size; ++ago) {
    const double* const now = row(ago);
    const double* const before = row(ago + size);
    for (std::int64_t i = 2 * ranks_; i < width_ && groups > 0; i += kAwaited) {
      const Awaited late{now[i], now[i + 1], now[i + 2]};
      const Awaited early{before[i], before[i + 1], before[i + 2]};
      const auto keep = [&](double was, double is) {
        groups = groups_until_overtaken(was, is, groups);
      };
      keep(early.one - early.other, late.one - late.other);
      keep(early.free - early.made(), late.free - late.made());
      keep(early.free - (early.made() + scratch_.transfer),
           late.free - (late.made() + scratch_.transfer));
    }
  }
  return groups;
}

void PipelineProgram::SteadyRounds::leave_out(std::int64_t size, std::int64_t groups,
                                              const double* free, const double* waited) {
  const auto times = static_cast<double>(groups);
  for (std::size_t rank = 0; rank < scratch_.free.size(); ++rank) {
    scratch_.free[rank] += times * (scratch_.free[rank] - free[rank]);
    scratch_.waited[rank] += times * (scratch_.waited[rank] - waited[rank]);
  }
  // The latest first: what was made a group ago may be on its way as well.
  double* const now = outputs();
  const double* const before = outputs(size);
  for (auto output = stretch_.live.rbegin(); output != stretch_.live.rend(); ++output) {
    now[*output] += times * (now[*output] - before[*output]);
  }
  left_ -= size * groups;
  since_ = 0;
}

std::int64_t PipelineProgram::run_rounds(const Stretch& stretch, std::int64_t rounds,
                                         PipelineScratch& scratch) const {
  return SteadyRounds(*this, stretch, scratch).run(rounds);
}

}  // namespace stepcast
