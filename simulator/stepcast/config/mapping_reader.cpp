// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/mapping_reader.hpp"

#include <algorithm>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/nearest_name.hpp"
#include "stepcast/base/printable.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

const ConfigNode& empty_mapping() {
  static const ConfigNode node = empty_at({}, ConfigNode::Kind::kMapping);
  return node;
}

bool contains(const std::vector<std::string>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Whether the two are so alike that one may be the other misspelt.
bool one_letter_apart(std::string_view a, std::string_view b) {
  constexpr std::size_t kShortest = 4;
  const bool alike = a.size() >= kShortest && b.size() >= kShortest && a.size() <= b.size() + 1 &&
                     b.size() <= a.size() + 1 && (a.front() == b.front() || a.back() == b.back());
  return alike && edit_distance(a, b) == 1;
}

}  // namespace

MappingReader::MappingReader(const ConfigNode& node, std::string path, Diagnostics& diagnostics)
    : node_(&node), path_(std::move(path)), diagnostics_(&diagnostics) {
  if (node.kind != ConfigNode::Kind::kMapping) {
    error_at(node, (path_.empty() ? "the file" : "'" + path_ + "'") + " must be a mapping, not " +
                       kind_name(node.kind) + "; write 'key: value' lines");
    node_ = &empty_mapping();
  }
}

MappingReader::MappingReader(const ConfigNode& node, RecordWording wording,
                             Diagnostics& diagnostics)
    : node_(&node), record_(wording), diagnostics_(&diagnostics) {
  if (node.kind != ConfigNode::Kind::kMapping) {
    error_at(node, must_be_object(wording.what));
    node_ = &empty_mapping();
  }
}

bool MappingReader::has(std::string_view key) const {
  const ConfigNode* value = node_->find(key);
  return value != nullptr && value->kind != ConfigNode::Kind::kNull;
}

Location MappingReader::location(std::string_view key) const {
  const ConfigEntry* entry = node_->entry(key);
  if (entry == nullptr) {
    return node_->location();
  }
  return record_ ? entry->location() : entry->value.location();
}

bool MappingReader::asked(std::string_view key) const { return contains(asked_, key); }

bool MappingReader::good(std::initializer_list<std::string_view> keys) const {
  return std::none_of(keys.begin(), keys.end(),
                      [this](std::string_view key) { return contains(failed_, key); });
}

void MappingReader::error(std::string_view key, std::string message) const {
  failed_.emplace_back(key);
  diagnostics_->error(location(key), "'" + path_of(key) + "' " + std::move(message));
}

void MappingReader::error_at(const ConfigNode& value, std::string message) const {
  diagnostics_->error(value.location(), std::move(message));
}

void MappingReader::refuse(std::string_view key, const ConfigNode& value,
                           const std::string& message, const std::string& index) const {
  failed_.emplace_back(key);
  diagnostics_->error(record_ ? location(key) : value.location(),
                      "'" + path_of(key) + index + "'" + message);
}

void MappingReader::refuse_key(const ConfigEntry& entry, const std::string& remedy) const {
  failed_.push_back(entry.key);
  diagnostics_->error(entry.location(), "unknown key '" + shown(entry.key) + "'" + remedy);
}

std::string MappingReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const ConfigNode* MappingReader::take(std::string_view key) {
  asked_.emplace_back(key);
  const ConfigNode* value = node_->find(key);
  return value == nullptr || value->kind == ConfigNode::Kind::kNull ? nullptr : value;
}

const ConfigNode* MappingReader::take_required(std::string_view key) {
  const ConfigNode* value = take(key);
  if (value != nullptr || node_ == &empty_mapping()) {
    return value;
  }
  if (record_ && node_->find(key) != nullptr) {
    return node_->find(key);
  }
  failed_.emplace_back(key);
  if (record_) {
    missing_.emplace_back(key);
  } else {
    const std::string place = path_.empty() ? "the file" : "'" + path_ + "'";
    error_at(*node_, place + " needs the key '" + std::string(key) + "'");
  }
  return nullptr;
}

bool MappingReader::is_readable_text(const ConfigNode& value) const {
  return value.kind == ConfigNode::Kind::kScalar && (value.quoted || !record_);
}

std::optional<std::string> MappingReader::scalar(std::string_view key, const ConfigNode& value,
                                                 std::string_view example) const {
  if (value.kind != ConfigNode::Kind::kScalar) {
    refuse(key, value, not_single(value, example));
    return std::nullopt;
  }
  return value.text;
}

std::optional<std::string> MappingReader::text(std::string_view key,
                                               const ConfigNode& value) const {
  if (!is_readable_text(value)) {
    refuse(key, value, record_ ? " must be a text, not " + shown(value) : not_single(value, {}));
    return std::nullopt;
  }
  return value.text;
}

std::optional<std::string> MappingReader::name(std::string_view key,
                                               const ConfigNode& value) const {
  if (is_readable_text(value) && value.text.empty()) {
    refuse(key, value, " is empty; write a value, or leave the key out");
    return std::nullopt;
  }
  return text(key, value);
}

std::string MappingReader::whole_message(const ConfigNode& value, NumberFault fault,
                                         Range<std::int64_t> range) const {
  const std::string lowest = std::to_string(range.lowest);
  const std::string highest = std::to_string(range.highest);
  if (record_) {
    return " must be a whole number from " + lowest + " to " + highest + ", not " + shown(value);
  }
  return config_number_message(value, fault, {"a whole number", "8", lowest, highest});
}

std::string MappingReader::number_message(const ConfigNode& value, NumberFault fault,
                                          Range<double> range) const {
  if (record_) {
    return " must be a number from " + shortest_text(range.lowest) + " to " +
           shortest_text(range.highest) + ", not " + shown(value);
  }
  return config_number_message(
      value, fault,
      {"a plain number", "0.93", significant(range.lowest, 4), significant(range.highest, 4)});
}

std::optional<std::int64_t> MappingReader::count(std::string_view key, const ConfigNode& value,
                                                 Range<std::int64_t> range) const {
  const ScannedNumber<std::int64_t> number = scan_whole(value, range);
  if (number.fault != NumberFault::kNone) {
    refuse(key, value, whole_message(value, number.fault, range));
    return std::nullopt;
  }
  return number.value;
}

std::optional<double> MappingReader::number(std::string_view key, const ConfigNode& value,
                                            Range<double> range) const {
  const ScannedNumber<double> number = scan_number(value, range);
  if (number.fault != NumberFault::kNone) {
    refuse(key, value, number_message(value, number.fault, range));
    return std::nullopt;
  }
  return number.value;
}

std::optional<bool> MappingReader::flag(std::string_view key, const ConfigNode& value) const {
  const std::optional<bool> flag = flag_of(value);
  if (flag) {
    return flag;
  }
  if (record_) {
    refuse(key, value, " must be true or false, not " + shown(value));
  } else if (value.kind != ConfigNode::Kind::kScalar) {
    refuse(key, value, not_single(value, "true"));
  } else {
    refuse(key, value, ": '" + clipped(value.text) + "' is neither true nor false");
  }
  return std::nullopt;
}

std::string MappingReader::required_text(std::string_view key) {
  const ConfigNode* value = take_required(key);
  return value == nullptr ? std::string{} : text(key, *value).value_or(std::string{});
}

std::string MappingReader::optional_text(std::string_view key, const std::string& fallback) {
  const ConfigNode* value = take(key);
  return value == nullptr ? fallback : text(key, *value).value_or(fallback);
}

std::string MappingReader::optional_name(std::string_view key, const std::string& fallback) {
  const ConfigNode* value = take(key);
  return value == nullptr ? fallback : name(key, *value).value_or(fallback);
}

std::int64_t MappingReader::required_count(std::string_view key, Range<std::int64_t> range) {
  const ConfigNode* value = take_required(key);
  return value == nullptr ? range.lowest : count(key, *value, range).value_or(range.lowest);
}

std::int64_t MappingReader::optional_count(std::string_view key, std::int64_t fallback,
                                           Range<std::int64_t> range) {
  const ConfigNode* value = take(key);
  return value == nullptr ? fallback : count(key, *value, range).value_or(fallback);
}

double MappingReader::required_number(std::string_view key, Range<double> range) {
  const ConfigNode* value = take_required(key);
  return value == nullptr ? range.lowest : number(key, *value, range).value_or(range.lowest);
}

double MappingReader::optional_number(std::string_view key, double fallback, Range<double> range) {
  const ConfigNode* value = take(key);
  return value == nullptr ? fallback : number(key, *value, range).value_or(fallback);
}

std::optional<bool> MappingReader::optional_flag(std::string_view key) {
  const ConfigNode* value = take(key);
  return value == nullptr ? std::nullopt : flag(key, *value);
}

const std::vector<ConfigNode>& MappingReader::list(std::string_view key) {
  static const std::vector<ConfigNode> kNone;
  const ConfigNode* value = take(key);
  if (value == nullptr) {
    return kNone;
  }
  if (value->kind != ConfigNode::Kind::kSequence) {
    refuse(key, *value,
           record_ ? " must be a list, not " + shown(*value)
                   : std::string(" must be a list; write [a, b]"));
  }
  return value->items;  // of a list alone
}

std::vector<std::string> MappingReader::optional_texts(std::string_view key) {
  std::vector<std::string> texts;
  for (const ConfigNode& item : list(key)) {
    if (record_ && !is_readable_text(item)) {
      refuse(key, item, " must hold texts only, not " + shown(item));
      return {};
    }
    if (std::optional<std::string> written = text(key, item)) {
      texts.push_back(std::move(*written));
    }
  }
  return texts;
}

std::vector<std::int64_t> MappingReader::optional_counts(std::string_view key,
                                                         Range<std::int64_t> range) {
  const std::vector<ConfigNode>& items = list(key);
  std::vector<std::int64_t> counts;
  counts.reserve(items.size());
  for (const ConfigNode& item : items) {
    const ScannedNumber<std::int64_t> number = scan_whole(item, range);
    if (number.fault != NumberFault::kNone) {
      refuse(key, item, whole_message(item, number.fault, range),
             "[" + std::to_string(counts.size()) + "]");
      return {};
    }
    counts.push_back(number.value);
  }
  return counts;
}

MappingReader MappingReader::required_mapping(std::string_view key) {
  const ConfigNode* value = take_required(key);
  return {value == nullptr ? empty_mapping() : *value, path_of(key), *diagnostics_};
}

std::optional<MappingReader> MappingReader::optional_mapping(std::string_view key) {
  const ConfigNode* value = take(key);
  return value == nullptr ? std::nullopt
                          : std::optional(MappingReader(*value, path_of(key), *diagnostics_));
}

void MappingReader::finish() {
  report_missing();
  for (const ConfigEntry& entry : node_->entries) {
    if (contains(asked_, entry.key) || contains(failed_, entry.key)) {
      continue;
    }
    if (diagnostics_->full()) {
      diagnostics_->count_only();
      continue;
    }
    if (record_) {
      refuse_key(entry, did_you_mean(entry.key, asked_));
      continue;
    }
    // A framework's word is no slip of the pen: torchtitan's local_batch_size is our
    // micro_batch_size, not the key that is spelt nearest to it.
    std::string remedy = did_you_mean_ours(entry.key, path_);
    remedy = remedy.empty() ? did_you_mean(entry.key, asked_) : remedy;
    remedy = remedy.empty() ? "; known keys: " + text_list(asked_) : remedy;
    const std::string place = path_.empty() ? "" : " in '" + path_ + "'";
    diagnostics_->error(entry.location(),
                        "unknown key '" + clipped(entry.key) + "'" + place + remedy);
  }
}

void MappingReader::report_missing() {
  std::vector<std::string> unknown;
  for (const ConfigEntry& entry : node_->entries) {
    if (!missing_.empty() && !contains(asked_, entry.key)) {
      unknown.push_back(entry.key);
    }
  }
  for (const std::string& key : missing_) {
    const std::string near = nearest_name(key, unknown);
    diagnostics_->error(near.empty() ? node_->location() : location(near),
                        "the " + std::string(record_->what) + " needs the key '" + key + "'" +
                            (near.empty() ? std::string(record_->remedy)
                                          : "; is '" + shown(near) + "' meant to be it?"));
  }
  missing_.clear();
}

void MappingReader::refuse_misspelt(std::initializer_list<std::string_view> others) {
  std::vector<std::string> known = asked_;
  known.insert(known.end(), others.begin(), others.end());
  for (const ConfigEntry& entry : node_->entries) {
    if (contains(known, entry.key)) {
      continue;
    }
    const auto meant = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
      return ascii::same_letters(entry.key, name) ||
             (one_letter_apart(entry.key, name) && node_->find(name) == nullptr);
    });
    if (meant != known.end()) {
      refuse_key(entry, "; did you mean '" + *meant + "'?");
    }
  }
}

void MappingReader::report_choice(std::string_view key, const ConfigNode& value,
                                  const std::vector<std::string>& names) const {
  const bool readable = is_readable_text(value);
  std::string remedy = readable ? did_you_mean(value.text, names) : "";
  if (record_) {
    refuse(key, value, " must be one of " + text_list(names) + "; it is " + shown(value) + remedy);
  } else if (!readable) {
    refuse(key, value, not_single(value, {}));
  } else {
    remedy = remedy.empty() ? "; give one of: " + text_list(names) : remedy;
    refuse(key, value, ": unknown value '" + clipped(value.text) + "'" + remedy);
  }
}

std::string required_name(MappingReader& reader, std::string_view key) {
  std::string name = reader.required_text(key);
  if (printable(name) != name) {
    reader.error(key, "holds a control character, as a line feed is; write a name of one line");
  }
  return name;
}

}  // namespace stepcast
