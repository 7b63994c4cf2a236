// SPDX-License-Identifier: Apache-2.0
// Experiment -> ProvenanceShares: what stands behind the constants that decide the step's time.
//
// The time of the slowest pipeline rank is shared out in three steps.
//   1. Its breakdown to its operators: computation, the optimizer and what contention adds in
//      proportion to the time of those that compute, each axis' exposed communication to those of
//      the axis. What waits for other ranks (the bubble) rests on what the rest rests on.
//   2. The time of an operator to its terms, as its backend prices them.
//   3. A term to the constants that it follows, by their slopes (cost/price_slopes.hpp). The slope
//      of a term over a constant is the share of the term that the constant is a factor of: 1 of a
//      rate, less of one summand among several; of an exponent it is what a per cent of it moves.
//      The weakest kind takes as much as its slopes add up to, then the next of what is left:
//      assumed, fitted, derived, measured, specified. So a product of an efficiency (fitted) and a
//      peak rate (specified) is fitted: knowing the peak does not make the product known. Constants
//      of one kind divide in proportion to their slopes.
//
// The clock is a factor like others. A locked one is the experiment's, a kernel at the peak clock
// rests on that, and below it on what the power balance rests on (schedule/step_clock.hpp): the
// limit, energies and times, and the spread between parts, by the slopes of the clock that solves
// it. With clocks of their own all kernels below the peak share that balance. Host time follows the
// constants of the host and of the software that the gaps follow. Operators from the user's tables
// are measured. A time that follows no number of a profile is assumed: what stands in the program.
//
// Not followed are numbers that only decide how much of the communication is exposed, as its
// slowdown beside computation, and counts.
//
// Prices are asked for a few thousand times, which takes longer than the projection itself; only
// reports do it.
#pragma once

#include "stepcast/cost/cost_model.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// Of `projection`, which is that of the experiment by `cost`. Nothing where it is not priced.
std::optional<ProvenanceShares> provenance_shares(const Experiment& experiment,
                                                  const Projection& projection,
                                                  const CostModel& cost);

}  // namespace stepcast
