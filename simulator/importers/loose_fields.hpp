// SPDX-License-Identifier: Apache-2.0
// Fields of a published JSON row, which may be absent, null or of another type; rows whose every
// field is to be right are read with config/json_fields.hpp.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace stepcast {

// A whole number in `object`, if it has one under `key`.
std::optional<std::int64_t> json_count(const nlohmann::json& object, const char* key);
std::optional<double> json_number(const nlohmann::json& object, const char* key);
std::optional<bool> json_flag(const nlohmann::json& object, const char* key);
// A text; a number as its text; empty for anything else.
std::string json_text(const nlohmann::json& object, const char* key);
// A nested object; an empty one for anything else.
const nlohmann::json& json_object(const nlohmann::json& object, const char* key);

}  // namespace stepcast
