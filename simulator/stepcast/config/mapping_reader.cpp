// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/mapping_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "stepcast/base/nearest_name.hpp"

namespace stepcast {
namespace {

const ConfigNode& empty_mapping() {
  static const ConfigNode node = [] {
    ConfigNode mapping;
    mapping.kind = ConfigNode::Kind::kMapping;
    return mapping;
  }();
  return node;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string kind_name(ConfigNode::Kind kind) {
  switch (kind) {
    case ConfigNode::Kind::kNull:
      return "nothing";
    case ConfigNode::Kind::kScalar:
      return "a single value";
    case ConfigNode::Kind::kSequence:
      return "a list";
    case ConfigNode::Kind::kMapping:
      return "a mapping";
  }
  return "";
}

std::string clipped(const std::string& text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
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

bool MappingReader::has(std::string_view key) const {
  const ConfigNode* value = node_->find(key);
  return value != nullptr && value->kind != ConfigNode::Kind::kNull;
}

Location MappingReader::location(std::string_view key) const {
  const ConfigNode* value = node_->find(key);
  return value == nullptr ? node_->location() : value->location();
}

void MappingReader::error(std::string_view key, std::string message) const {
  diagnostics_->error(location(key), "'" + path_of(key) + "' " + std::move(message));
}

void MappingReader::error_at(const ConfigNode& value, std::string message) const {
  diagnostics_->error(value.location(), std::move(message));
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
  if (value == nullptr && node_ != &empty_mapping()) {
    const std::string place = path_.empty() ? "the file" : "'" + path_ + "'";
    error_at(*node_, place + " needs the key '" + std::string(key) + "'");
  }
  return value;
}

std::optional<std::string> MappingReader::scalar(std::string_view key, const ConfigNode& value,
                                                 std::string_view example) const {
  if (value.kind != ConfigNode::Kind::kScalar) {
    error_at(value,
             "'" + path_of(key) + "' must be a single value, not " + kind_name(value.kind) +
                 (example.empty() ? "; write one value" : "; write e.g. " + std::string(example)));
    return std::nullopt;
  }
  return value.text;
}

std::optional<std::string> MappingReader::text(std::string_view key,
                                               const ConfigNode& value) const {
  return scalar(key, value, {});
}

std::optional<std::int64_t> MappingReader::count(std::string_view key, const ConfigNode& value,
                                                 Range<std::int64_t> range) const {
  const std::optional<std::string> written = scalar(key, value, "8");
  if (!written) {
    return std::nullopt;
  }
  std::int64_t parsed = 0;
  const char* const end = written->data() + written->size();
  const auto [after, error] = std::from_chars(written->data(), end, parsed);
  const bool leading_zero = written->size() > 1 && written->front() == '0';
  if (error == std::errc::invalid_argument || after != end || value.quoted || leading_zero) {
    error_at(value, "'" + path_of(key) + "': '" + clipped(*written) +
                        "' is not a whole number; write e.g. 8");
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range || parsed < range.lowest || parsed > range.highest) {
    error_at(value, "'" + path_of(key) + "': " + clipped(*written) + " is out of range; give " +
                        std::to_string(range.lowest) + " to " + std::to_string(range.highest));
    return std::nullopt;
  }
  return parsed;
}

std::optional<double> MappingReader::number(std::string_view key, const ConfigNode& value,
                                            Range<double> range) const {
  const std::optional<std::string> written = scalar(key, value, "0.93");
  if (!written) {
    return std::nullopt;
  }
  double parsed = 0.0;
  const char* const end = written->data() + written->size();
  const auto [after, error] = std::from_chars(written->data(), end, parsed);
  if (error == std::errc::invalid_argument || after != end || value.quoted ||
      (error == std::errc{} && !std::isfinite(parsed))) {
    error_at(value, "'" + path_of(key) + "': '" + clipped(*written) +
                        "' is not a plain number; write e.g. 0.93");
    return std::nullopt;
  }
  if (error == std::errc::result_out_of_range || parsed < range.lowest || parsed > range.highest) {
    error_at(value, "'" + path_of(key) + "': " + clipped(*written) + " is out of range; give " +
                        significant(range.lowest, 4) + " to " + significant(range.highest, 4));
    return std::nullopt;
  }
  return parsed;
}

std::optional<bool> MappingReader::flag(std::string_view key, const ConfigNode& value) const {
  const std::optional<std::string> written = scalar(key, value, "true");
  if (!written) {
    return std::nullopt;
  }
  if (!value.quoted && *written == "true") {
    return true;
  }
  if (!value.quoted && *written == "false") {
    return false;
  }
  error_at(value, "'" + path_of(key) + "': '" + clipped(*written) + "' is neither true nor false");
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

std::vector<std::string> MappingReader::optional_texts(std::string_view key) {
  const ConfigNode* value = take(key);
  std::vector<std::string> texts;
  if (value == nullptr) {
    return texts;
  }
  if (value->kind != ConfigNode::Kind::kSequence) {
    error_at(*value, "'" + path_of(key) + "' must be a list; write [a, b]");
    return texts;
  }
  for (const ConfigNode& item : value->items) {
    if (std::optional<std::string> written = text(key, item)) {
      texts.push_back(std::move(*written));
    }
  }
  return texts;
}

MappingReader MappingReader::required_mapping(std::string_view key) {
  const ConfigNode* value = take_required(key);
  return {value == nullptr ? empty_mapping() : *value, path_of(key), *diagnostics_};
}

std::optional<MappingReader> MappingReader::optional_mapping(std::string_view key) {
  const ConfigNode* value = take(key);
  if (value == nullptr) {
    return std::nullopt;
  }
  return MappingReader(*value, path_of(key), *diagnostics_);
}

void MappingReader::finish() {
  for (const ConfigEntry& entry : node_->entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) == asked_.end()) {
      const std::string place = path_.empty() ? "" : " in '" + path_ + "'";
      std::string remedy = did_you_mean(entry.key, asked_);
      if (remedy.empty()) {
        remedy = "; known keys: " + joined(asked_);
      }
      diagnostics_->error({node_->file ? *node_->file : std::string{}, entry.line, entry.column},
                          "unknown key '" + clipped(entry.key) + "'" + place + remedy);
    }
  }
}

void MappingReader::report_quantity(std::string_view key, const ConfigNode& value,
                                    const std::string& written, QuantityFault fault,
                                    std::string_view example) const {
  const std::string start = "'" + path_of(key) + "': '" + clipped(written) + "' ";
  const std::string remedy = "; write e.g. " + std::string(example);
  switch (fault) {
    case QuantityFault::kNoUnit:
      return error_at(value, start + "has no unit" + remedy);
    case QuantityFault::kWrongUnit:
      return error_at(value, start + "has a wrong unit" + remedy);
    case QuantityFault::kOutOfRange:
      return error_at(value, start + "is out of range" + remedy);
    default:
      return error_at(value, start + "is not a number with a unit" + remedy);
  }
}

void MappingReader::report_negative(std::string_view key, const ConfigNode& value,
                                    const std::string& written) const {
  error_at(value, "'" + path_of(key) + "': '" + clipped(written) + "' is negative; give 0 or more");
}

void MappingReader::report_choice(std::string_view key, const ConfigNode& value,
                                  const std::string& written,
                                  const std::vector<std::string>& names) const {
  std::string remedy = did_you_mean(written, names);
  if (remedy.empty()) {
    remedy = "; give one of: " + joined(names);
  }
  error_at(value, "'" + path_of(key) + "': unknown value '" + clipped(written) + "'" + remedy);
}

}  // namespace stepcast
