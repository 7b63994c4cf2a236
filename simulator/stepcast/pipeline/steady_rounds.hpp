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
#pragma once

#include <cstdint>

#include "stepcast/pipeline/pipeline_program.hpp"

namespace stepcast {

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

}  // namespace stepcast
