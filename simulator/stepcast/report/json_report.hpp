// SPDX-License-Identifier: Apache-2.0
// A projection as JSON, with units in the keys; the shape is the interface's.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stepcast/result/projection.hpp"

namespace stepcast {

inline constexpr int kJsonSchemaVersion = 1;

// What every report about a projection starts with: version, context, whether it can run.
// Whether the step can be captured in one CUDA graph, and what keeps it from that.
void add_capture(const Projection& projection, nlohmann::ordered_json& json);

nlohmann::ordered_json json_header(const Projection& projection);
nlohmann::ordered_json to_json(const Projection& projection);
// Intervals as factors of the predicted tokens/s.
nlohmann::ordered_json to_json(const ExpectedError& error);
// Memory alone, for `stepcast memory`.
nlohmann::ordered_json memory_to_json(const Projection& projection);

}  // namespace stepcast
