// SPDX-License-Identifier: Apache-2.0
// The model of a published training run: one of ours by its name, else from the row's own figures.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "stepcast/validation/measured_run.hpp"

namespace stepcast {

// A row that cannot be simulated; the text says why.
struct SkippedRow {
  std::string reason;
};

// The count, or SkippedRow if it is absent or not positive.
std::int64_t required_count(std::optional<std::int64_t> value, const char* what);

// `row` holds `model`; `train` is its object of that name. Throws SkippedRow.
ModelSpec published_model(const nlohmann::json& row, const nlohmann::json& train,
                          ProfileCache& profiles);

}  // namespace stepcast
