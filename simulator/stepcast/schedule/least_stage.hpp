// SPDX-License-Identifier: Apache-2.0
// What a micro-batch takes of a stage at least, from the sums of its tasks, without running them.
//
// On the streams of a rank (rank_streams.hpp) a kernel never runs faster than by itself, kernels
// run one after the other, and a program waits for communication that blocks it. Of a pass with
//   C  kernels, each of which runs at most at the rate r beside communication
//   B  communication that blocks
//   D  gathers and reductions that end within the pass, one after the other, each of which takes
//      at least s times as long beside a kernel
// D lies beside B as far as it can, and for a time x of what is left of it, D', beside kernels:
// these then take x (1 - r) longer, and D' - x / s is left to wait for. So the pass takes at least
//
//   B + C + D' + x (1 - r - 1 / s),  x = min(s D', C / r),  D' = max(0, D - B)
//
// where 1 - r - 1 / s <= 0, else B + C + D'; and at least what its host takes to launch it.
//
// Two passes side by side take at least the kernels of both, the communication of both over any one
// axis, which has one stream, and the launches of both: B of one may lie beside C of the other.
// That is also all that is sure of passes of which a given share of communication is hidden.
//
// All of this is convex, grows with each of C, B and D, and n layers that are alike take n times as
// long as one: a mean over ranks takes no less than the pass of their mean sums.
#pragma once

#include "stepcast/schedule/pass_timeline.hpp"

namespace stepcast {

// How the passes of a rank run.
enum class PassMode {
  kOneByOne,
  kPaired,   // some of them two at a time
  kUniform,  // with a given share of communication hidden
};

// The sums of the tasks of one pass.
struct LeastPass {
  TaskSums sums;
  Seconds moved;          // by gathers and reductions
  double rate = 0.0;      // the highest of its kernels beside communication
  double slowdown = 1e3;  // the least of gathers and reductions beside kernels

  void add_moved(double times, const TaskList& tasks);
  void add(double times, const LeastPass& other);
  // By itself on its rank.
  [[nodiscard]] Seconds alone() const;
  // Beside whatever may run there.
  [[nodiscard]] Seconds beside() const;
};
// A list of tasks as a pass, without what data parallelism moves.
LeastPass pass_of(const TaskSums& sums);
// Each sum the lower of both.
LeastPass least_of(const LeastPass& a, const LeastPass& b);
// Two passes as one.
LeastPass together(const LeastPass& a, const LeastPass& b);

struct LeastStage {
  Seconds first_forward;  // its gathers began before it
  Seconds forward;
  Seconds backward;  // recomputation included
  // The two parts of a backward where a schedule parts it (weight_part): together no longer than
  // the whole.
  Seconds inputs;
  Seconds weight;
  Joules energy;  // of forward and backward, above idle
  LeastPass forward_sums;
  LeastPass backward_sums;
  // What its last backward reduces that those before did not, on one stream and no sooner than it
  // begins.
  Seconds reduced;
};

LeastStage least_stage(const StageProgram& program, PassMode mode);

// The passes of a stage without what data parallelism moves.
struct StagePasses {
  LeastPass forward;
  LeastPass backward;    // nothing recomputed in full
  LeastPass recomputed;  // what full recomputation of every layer adds to it

  void add(double times, const StagePasses& other);
};
StagePasses stage_passes(const StageProgram& program);

}  // namespace stepcast
