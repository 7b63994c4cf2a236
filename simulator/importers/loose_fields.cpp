// SPDX-License-Identifier: Apache-2.0
#include "importers/loose_fields.hpp"

#include <cmath>

namespace stepcast {
namespace {

const nlohmann::json* field(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

std::optional<std::int64_t> json_count(const nlohmann::json& object, const char* key) {
  constexpr double kLargest = 1e15;
  const std::optional<double> number = json_number(object, key);
  if (!number || std::abs(*number) > kLargest) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::llround(*number));
}

std::optional<double> json_number(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = field(object, key);
  return value != nullptr && value->is_number() ? std::optional(value->get<double>())
                                                : std::nullopt;
}

std::optional<bool> json_flag(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = field(object, key);
  return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

std::string json_text(const nlohmann::json& object, const char* key) {
  const nlohmann::json* value = field(object, key);
  if (value == nullptr) {
    return {};
  }
  return value->is_string() ? value->get<std::string>() : value->is_number() ? value->dump() : "";
}

const nlohmann::json& json_object(const nlohmann::json& object, const char* key) {
  static const nlohmann::json empty = nlohmann::json::object();
  const nlohmann::json* value = field(object, key);
  return value != nullptr && value->is_object() ? *value : empty;
}

}  // namespace stepcast
