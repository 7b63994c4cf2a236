// SPDX-License-Identifier: Apache-2.0
// How likely a run is not to run out of memory, from what is told of its memory.
//
// What is told is off: a framework holds what no source states, and an allocator finds no hole for
// what it would have room for. A logistic curve over
//
//   x = (ln(used / capacity) + 3 ln(in use / capacity)) / 4
//
// used: the allocated peak with what lies outside of the allocator; in use: all that the allocator
// would reserve if the GPU had room without end, with the same:
//
//   P(runs) = despite + (1 - despite) / (1 + exp((x - centre) / scale))
//
// Of a pool that a framework takes at the start, both are shares of the pool.
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/memory/stage_memory.hpp"

namespace stepcast {

// Maximum likelihood over 1,303 published runs of 39 sources of which is known whether they ran or
// ran out of memory, each source with the weight of the root of its runs; without units, ln for the
// first two. Of the weights 1/2, 3/4 and 1 of what is in use 3/4 tells most of the runs that ran to
// fit (93.0 %; of those that died 2.1 %, and 83.0 % not to; 8.1 % of all are tight). Each source
// left out in turn, of the runs that were told
//
//   at least 98 %  95 to 98  90 to 95  80 to 90  50 to 80  20 to 50  10 to 20  below 10
//   99.7 (882)     96 (68)   82 (28)   75 (20)   53 (36)   27 (22)   10 (10)   3 % (237) did run.
struct MemoryErrors {
  double centre = 0.09;   // the x at which half run; above 0: memory is told too high more often
  double scale = 0.06;    // of the errors around it
  double despite = 0.05;  // share that runs whatever is told: a source leaves out what saves memory
};

// Of one rank. All that it holds is at least 1 B.
double odds_of_running(const StageMemory& stage, Bytes capacity, const MemoryErrors& errors = {});

// What a plan with more allocated cannot have: `sure` of running, whatever lies beside it.
Bytes most_memory(Bytes capacity, double sure, const MemoryErrors& errors = {});

// How much less a rank must hold at its peak for its odds to be `sure`; none where they are.
Bytes missing_memory(const StageMemory& stage, Bytes capacity, double sure,
                     const MemoryErrors& errors = {});

}  // namespace stepcast
