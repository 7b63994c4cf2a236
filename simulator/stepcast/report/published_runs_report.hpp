// SPDX-License-Identifier: Apache-2.0
// Measured runs as hardware_profiles/published_runs.json has them (experiment/published_runs.hpp),
// and as a report does that shows some of them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/published_run.hpp"
#include "stepcast/result/validation.hpp"

namespace stepcast {

// Of rows that validation made of files: each run once that says where its figure stands, in the
// order of the rows; rates in four significant digits.
std::string validation_to_published(const std::vector<ValidationRow>& rows);

// A table with a line for each; empty without any.
std::string published_to_text(const std::vector<PublishedRun>& runs);
nlohmann::ordered_json published_to_json(const std::vector<PublishedRun>& runs);

}  // namespace stepcast
