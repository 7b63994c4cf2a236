// SPDX-License-Identifier: Apache-2.0
// Predictions beside measured values, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/timed_runs.hpp"
#include "stepcast/result/validation.hpp"

namespace stepcast {

// What errors are shown beside: nothing, or those of one rate for every run of a group, fitted on
// its own rows.
enum class ErrorBaseline { kNone, kConstantRate };

// The summary as a table, which runs fit, how many lie inside the intervals that are stated of
// them, and what was skipped for which reason.
std::string validation_to_text(const std::vector<ValidationRow>& rows,
                               ErrorBaseline baseline = ErrorBaseline::kNone);
// One row a line, with its prediction and error.
std::string validation_to_csv(const std::vector<ValidationRow>& rows);
// The errors of held-out runs with what they may hang on, as hardware_profiles/accuracy.json
// (experiment/accuracy.hpp).
std::string validation_to_accuracy(const std::vector<ValidationRow>& rows);
// rows[], summary[] and coverage[] of the interface.
std::string validation_to_json(const std::vector<ValidationRow>& rows,
                               const std::string& program_version);

// Runs by what they have in common, those of `groups` that are worse than they were, how many lie
// inside the intervals and how sure to run they were told; in JSON also the summary of all rows.
std::string groups_to_text(const std::vector<ValidationRow>& rows,
                           const std::vector<AccuracyGroup>& groups);
nlohmann::ordered_json groups_to_json(const std::vector<ValidationRow>& rows,
                                      const std::vector<AccuracyGroup>& groups);

// Of measured plans for the same work, and of those on one state of the network, the one that is
// predicted to be the fastest against the fastest.
std::string regret_to_text(const std::vector<TimedRun>& runs);
nlohmann::ordered_json regret_to_json(const std::vector<TimedRun>& runs);

// The same work on two GPUs.
std::string sku_pairs_to_text(const std::vector<SkuPair>& pairs);
nlohmann::ordered_json sku_pairs_to_json(const std::vector<SkuPair>& pairs);

// How many runs lie inside the intervals that are stated of them, as a table; empty without runs.
std::string coverage_to_text(const std::vector<IntervalCoverage>& groups);

}  // namespace stepcast
