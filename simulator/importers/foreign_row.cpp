// SPDX-License-Identifier: Apache-2.0
#include "importers/foreign_row.hpp"

#include <algorithm>
#include <cstdlib>

#include "importers/published_names.hpp"

namespace stepcast {
namespace {

Record record_of(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      return {};
    case JsonValue::Kind::kFlag:
      return value.flag;
    case JsonValue::Kind::kInteger:
      return value.integer;
    case JsonValue::Kind::kNumber:
      return std::strtod(value.text.c_str(), nullptr);
    case JsonValue::Kind::kText:
      return value.text;
    case JsonValue::Kind::kList: {
      Record list = Record::array();
      for (const JsonValue& item : value.items) {
        list.push_back(record_of(item));
      }
      return list;
    }
    case JsonValue::Kind::kObject: {
      Record object = Record::object();
      for (std::size_t i = 0; i < value.keys.size() && i < value.items.size(); ++i) {
        object[value.keys[i]] = record_of(value.items[i]);
      }
      return object;
    }
  }
  return {};
}

}  // namespace

std::string ForeignRow::text(std::string_view key) const {
  const auto found = object.find(key);
  return found == object.end() ? std::string() : found->second.text;
}

void ForeignRow::rename(std::string_view from, const std::string& to) {
  const auto found = object.find(from);
  if (found == object.end()) {
    diagnostics.error(source.at(0), "the " + std::string(source.what) + " needs the key '" +
                                        std::string(from) + "'");
    return;
  }
  JsonValue value = std::move(found->second);
  object.erase(found);
  object.insert_or_assign(to, std::move(value));
}

void ForeignRow::set(const std::string& key, JsonValue value) {
  JsonValue& entry = object[key];
  value.offset = entry.offset;
  entry = std::move(value);
}

void ForeignRow::set_text(const std::string& key, std::string text) {
  set(key, {.kind = JsonValue::Kind::kText, .text = std::move(text)});
}

void ForeignRow::set_count(const std::string& key, std::int64_t count) {
  set(key, {.kind = JsonValue::Kind::kInteger, .integer = count});
}

ForeignOperator operator_in(const ForeignRow& row, JsonFields& fields, const DeviceSpec& device) {
  std::vector<std::string_view> of_the_row;  // keys that were read before the operator's
  for (const auto& [key, value] : row.object) {
    if (fields.read(key)) {
      of_the_row.push_back(key);
    }
  }
  ForeignOperator result{read_operator(fields, device), Record::object()};
  result.record["kind"] = row.text("kind");
  for (const auto& [key, value] : row.object) {
    const bool own = std::find(of_the_row.begin(), of_the_row.end(), key) == of_the_row.end();
    if (own && fields.read(key)) {
      result.record[key] = record_of(value);
    }
  }
  return result;
}

std::string unread_key(const ForeignRow& row, const JsonFields& fields,
                       std::span<const std::string_view> own) {
  for (const auto& [key, value] : row.object) {
    const bool stated = value.kind != JsonValue::Kind::kNull;
    if (stated && !fields.read(key) && std::find(own.begin(), own.end(), key) == own.end()) {
      return key;
    }
  }
  return {};
}

std::string unread_reason(const std::string& key) {
  return "feature unsupported: the key '" + key + "' is not one that this format's reader knows";
}

std::string required_gpu(const std::string& published, ProfileCache& profiles) {
  std::string gpu = gpu_for(published, profiles.gpu_names());
  if (gpu.empty()) {
    throw RefusedRow{"input missing: no profile for the GPU '" + published + "'"};
  }
  return gpu;
}

}  // namespace stepcast
