// SPDX-License-Identifier: Apache-2.0
#include "importers/foreign_row.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "importers/published_names.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/hardware/part_names.hpp"

namespace stepcast {

ForeignRow::ForeignRow(ConfigNode read, std::string_view called, ProfileCache& known,
                       Diagnostics& problems)
    : object(std::move(read)), what(called), profiles(known), diagnostics(problems) {
  std::ranges::sort(object.entries, {}, &ConfigEntry::key);
}

std::string ForeignRow::text(std::string_view key) const {
  const ConfigNode* value = object.find(key);
  return value == nullptr ? std::string() : value->text;
}

void ForeignRow::rename(std::string_view from, const std::string& to) {
  const ConfigNode* found = object.find(from);
  if (found == nullptr) {
    diagnostics.error(object.location(),
                      "the " + std::string(what) + " needs the key '" + std::string(from) + "'");
    return;
  }
  const Location place = object.entry(from)->location();
  ConfigNode value = *found;
  erase(from);
  value_of(to) = std::move(value);
  ConfigEntry& entry = *std::ranges::lower_bound(object.entries, to, {}, &ConfigEntry::key);
  entry.line = place.line;
  entry.column = place.column;
}

void ForeignRow::erase(std::string_view key) {
  std::erase_if(object.entries, [&](const ConfigEntry& entry) { return entry.key == key; });
}

ConfigNode& ForeignRow::value_of(const std::string& key) {
  const auto at = std::ranges::lower_bound(object.entries, key, {}, &ConfigEntry::key);
  if (at != object.entries.end() && at->key == key) {
    return at->value;
  }
  ConfigNode absent = empty_at(object, ConfigNode::Kind::kNull);
  return object.entries.insert(at, {key, object.line, object.column, std::move(absent)})->value;
}

void ForeignRow::set_text(const std::string& key, std::string text) {
  ConfigNode& value = value_of(key);
  value.kind = ConfigNode::Kind::kScalar;
  value.text = std::move(text);
  value.quoted = true;
}

void ForeignRow::set_count(const std::string& key, std::int64_t count) {
  set_text(key, std::to_string(count));
  value_of(key).quoted = false;
}

void ForeignRow::set_flag(const std::string& key, Truth truth) {
  set_text(key, truth == Truth::kTrue ? "true" : "false");
  value_of(key).quoted = false;
}

ForeignOperator operator_in(const ForeignRow& row, MappingReader& fields,
                            const DeviceSpec& device) {
  std::vector<std::string_view> of_the_row;  // keys that were read before the operator's
  for (const ConfigEntry& entry : row.object.entries) {
    if (fields.was_read(entry.key)) {
      of_the_row.push_back(entry.key);
    }
  }
  ForeignOperator result{read_operator(fields, device), Record::object()};
  result.record["kind"] = row.text("kind");
  for (const ConfigEntry& entry : row.object.entries) {
    const bool own = std::ranges::find(of_the_row, entry.key) == of_the_row.end();
    if (own && fields.was_read(entry.key)) {
      result.record[entry.key] = json_of(entry.value);
    }
  }
  return result;
}

std::string unread_key(const ForeignRow& row, const MappingReader& fields,
                       std::span<const std::string_view> own) {
  for (const ConfigEntry& entry : row.object.entries) {
    const bool stated = entry.value.kind != ConfigNode::Kind::kNull;
    if (stated && !fields.was_read(entry.key) && std::ranges::find(own, entry.key) == own.end()) {
      return entry.key;
    }
  }
  return {};
}

std::string unread_reason(const std::string& key) {
  return "feature unsupported: the key '" + key + "' is not one that this format's reader knows";
}

std::string required_gpu(const std::string& published, ProfileCache& profiles) {
  std::vector<std::string> parts = parts_of_device({published, {}, {}}, profiles.known_parts());
  if (parts.empty()) {
    throw RefusedRow{"input missing: no profile for the GPU '" + published + "'"};
  }
  if (parts.size() > 1) {
    throw RefusedRow{"input missing: the GPU '" + published + "' may be " +
                     text_list(parts, " or ") + "; write the profile's name if it is that part"};
  }
  return std::move(parts.front());
}

std::string required_schedule(const std::string& published) {
  std::string schedule = schedule_for(published);
  if (schedule.empty()) {
    throw RefusedRow{"feature unsupported: the pipeline schedule '" + published + "'"};
  }
  return schedule;
}

}  // namespace stepcast
