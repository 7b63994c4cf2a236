// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: the same collective in the traces of several ranks.
//
// A collective's kernel begins when its own rank arrives and ends with all others, so of one call
//   transfer = the shortest time over its ranks, which the rank has that arrived last
//   waiting  = a rank's own time - transfer
// Calls are the same if they are of one group (its name and members) and equally many of that group
// came before them in the step. A transfer of a pipeline is a kernel of its sender and one of its
// receiver, which are the same if equally many from that rank to that rank came before. Durations
// need no common clock. With the traces of some ranks of a
// group only, the last of these counts as the last of all: waiting is then a lower bound.
#pragma once

#include <string>
#include <vector>

#include "trace_reader/measured_step.hpp"

namespace stepcast {

struct RankTotals {
  std::string file;
  std::int64_t rank = -1;  // -1: the trace does not say
  Seconds step;
  Seconds computation;    // device time without communication
  Seconds communication;  // device time
  Seconds waiting;        // of it
  Seconds exposed;
  Seconds idle;
  std::int64_t last = 0;           // collectives that it arrived last at
  Seconds waited_for;              // that the others waited for it there, each for itself
  std::vector<Seconds> waits_for;  // that it waited for each of the ranks
};

// One kind of collective over all of its calls in a step.
struct WaitedCollective {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;
  std::int64_t calls = 0;
  Seconds transfer;                // the sum over calls
  std::vector<Seconds> waiting;    // of each rank
  std::vector<std::int64_t> last;  // calls at which each rank arrived last
};

// One call that ranks waited at.
struct WaitedCall {
  StepCategory category = StepCategory::kOther;
  std::optional<WorkShape> shape;
  Seconds start;  // on the first of its ranks, from the first call of its step
  Seconds transfer;
  Seconds waiting;       // of all ranks together
  std::size_t last = 0;  // place of the rank that arrived last, in RankWaiting::ranks
};

struct RankWaiting {
  std::vector<RankTotals> ranks;              // as the traces were given
  std::vector<WaitedCollective> collectives;  // most waiting first
  std::vector<WaitedCall> calls;              // by their start
  std::size_t alone = 0;                      // calls that no other trace has
};

// Replaces what the steps say of waiting by what all of them show together, for the calls that
// several have.
RankWaiting rank_waiting(std::vector<MeasuredStep>& steps, const std::vector<std::string>& files);

}  // namespace stepcast
