// SPDX-License-Identifier: Apache-2.0
// Statistics of prediction errors e = predicted / measured - 1 over a group of rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/quantile.hpp"
#include "stepcast/result/validation.hpp"

namespace stepcast {

// Rank correlation of two series of equal length; ties share their mean rank.
double spearman(const std::vector<double>& a, const std::vector<double>& b);

// One summary a file, group and metric in the order of first appearance, then one a file over all.
std::vector<ErrorSummary> summarize(const std::vector<ValidationRow>& rows);

}  // namespace stepcast
