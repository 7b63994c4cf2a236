// SPDX-License-Identifier: Apache-2.0
// Statistics of prediction errors e = predicted / measured - 1 over a group of rows.
#pragma once

#include <vector>

#include "stepcast/base/quantile.hpp"
#include "stepcast/result/validation.hpp"

namespace stepcast {

// Rank correlation of two series of equal length; ties share their mean rank.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

// One summary a file, group and metric in the order of first appearance, then one a file over all.
std::vector<ErrorSummary> summarize(const std::vector<ValidationRow>& rows);

// --- intervals ----------------------------------------------------------------------------------
// How many measured runs lie inside the intervals that are stated of them, each without the runs of
// its own source: of an honest 80 % interval, 80 %.

// The rows of rates and of times of steps, each run once.
std::vector<const ValidationRow*> timed_once(const std::vector<ValidationRow>& rows);

// Of the held-out runs: each family, dense ones on a GPU that another source measured too and on
// one that none did; tuned stacks and those as they come; all; then all of which a constant may
// know. Groups without runs are left out.
std::vector<IntervalCoverage> interval_coverage(const std::vector<ValidationRow>& rows);

// From the surest not to run to the surest to run; what no run was told is left out.
std::vector<ToldOdds> told_odds(const std::vector<ValidationRow>& rows);

}  // namespace stepcast
