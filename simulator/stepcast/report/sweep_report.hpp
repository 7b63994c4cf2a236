// SPDX-License-Identifier: Apache-2.0
// What a sweep found, for people and for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sweep/shown_plans.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// What was swept, the best plans, the Pareto sets with a plot of the first, and what was refused.
// Columns are the axes that vary. Says so where fewer plans were evaluated than there are, and
// which of the best cannot be told apart, given what the `errors` to expect are.
std::string sweep_to_text(const SweepSpace& space, const SweepSummary& summary, PlanErrors& errors);

// Priced plans as a table for people: a column for each key in which they differ.
//
//   all of these have: dtype bf16, zero 1, cuda_graph on
//   titles: sp sequence_parallel
//
//     rank  index  tp   sp  pp  tokens/s/GPU    step  MFU %  memory GiB
//        1     42   8   on   4         412.3  9.93 s   45.1       61.20
//
// A key loses its section where what is left names one key only. A switch is a column as narrow as
// its initials, and keys that everyone abbreviates are mbs, gbs and seq. What a value of an axis
// does not set is "-".
std::string plans_table(const SweepSpace& space, const std::vector<PlanNumbers>& plans);

// "rank 2 to 4, 7": those of `ranked` plans that cannot be told apart from the first; empty where
// all can, or where nothing is known.
std::string not_told_apart_text(PlanErrors& errors, const std::vector<PlanNumbers>& ranked);

// Takes a text piece by piece.
using WriteText = std::function<void(std::string_view)>;
using TakePlan = std::function<void(const PlanNumbers&)>;
// Calls with each plan of a list, in its order.
using EachPlan = std::function<void(const TakePlan&)>;

// The same as JSON, piece by piece: schema_version, context, space_size, evaluated, priced,
// refused, plans (ranked), pareto; missing (plans, share, parts, of) where there are not all. Only
// one plan at a time is in memory as text. Each has the error to expect of it, and those of `plans`
// whether they can be told apart from the best.
void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      PlanErrors& errors);
// With other plans than the best of the summary, as all of them.
void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      PlanErrors& errors, const EachPlan& ranked);

}  // namespace stepcast
