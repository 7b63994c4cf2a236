// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/provenance.hpp"

#include <algorithm>
#include <filesystem>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/config/enum_fields.hpp"

namespace stepcast {
namespace {

void check_source(MappingReader& number, const std::string& source, const SourceTable& sources) {
  if (sources.contains(source)) {
    return;
  }
  std::vector<std::string> known;
  for (const auto& [key, text] : sources) {
    known.push_back(key);
  }
  number.error("source", "names '" + source + "', which is not in 'sources'" +
                             did_you_mean(source, known) + "; add it there");
}

}  // namespace

SourceTable read_sources(MappingReader& reader, std::string_view key) {
  SourceTable sources;
  if (std::optional<MappingReader> table = reader.optional_mapping(key)) {
    for (const ConfigEntry& entry : table->node().entries) {
      sources[entry.key] = table->required_text(entry.key);
    }
  }
  return sources;
}

void restate(std::vector<Provenance>& record, const Provenance& own) {
  const auto before = std::ranges::find(record, own.key, &Provenance::key);
  if (before != record.end()) {
    *before = own;
  }
}

const ConfigNode* SourcedReader::value_of(std::string_view key, Presence presence) {
  const ConfigNode* node =
      presence == Presence::kRequired ? reader_.take_required(key) : reader_.take(key);
  if (node == nullptr) {
    return nullptr;
  }
  if (node->kind != ConfigNode::Kind::kMapping) {
    reader_.error(key, "has no source; write {value: " + node->text +
                           ", source: KEY} or {value: " + node->text + ", assumed: why}");
    return nullptr;
  }
  MappingReader number(*node, reader_.path_of(key), reader_.diagnostics());
  const ConfigNode* value = number.take_required("value");
  record(std::move(number), key, value == nullptr ? "" : value->text);
  return value;
}

void SourcedReader::record(MappingReader mapping, std::string_view key, std::string value) {
  const std::filesystem::path file = mapping.node().location().file;
  Provenance provenance{.key = reader_.path_of(key),
                        .value = std::move(value),
                        .kind = SourceKind::kSpec,
                        .source = mapping.optional_text("source"),
                        .note = mapping.optional_text("note"),
                        .stated_in = file.stem().string(),
                        .file = (file.parent_path().filename() / file.filename()).generic_string()};
  const std::string reason = mapping.optional_text("assumed");
  provenance.kind = mapping.optional_choice<SourceKind>(
      "kind", enum_names<SourceKind>(), reason.empty() ? SourceKind::kSpec : SourceKind::kAssumed);
  if (!reason.empty()) {
    provenance.source = reason;
  } else if (provenance.source.empty()) {
    mapping.error("value", "needs a 'source', or 'assumed' with the reason");
  } else {
    check_source(mapping, provenance.source, *sources_);
  }
  mapping.finish();
  record_->push_back(std::move(provenance));
}

std::int64_t SourcedReader::count(std::string_view key, Range<std::int64_t> range) {
  const ConfigNode* value = value_of(key, Presence::kRequired);
  return value == nullptr ? range.lowest : reader_.count(key, *value, range).value_or(range.lowest);
}

std::optional<std::int64_t> SourcedReader::optional_count(std::string_view key,
                                                          Range<std::int64_t> range) {
  const ConfigNode* value = value_of(key, Presence::kOptional);
  return value == nullptr ? std::nullopt : reader_.count(key, *value, range);
}

double SourcedReader::number(std::string_view key, Range<double> range) {
  const ConfigNode* value = value_of(key, Presence::kRequired);
  return value == nullptr ? range.lowest
                          : reader_.number(key, *value, range).value_or(range.lowest);
}

std::optional<double> SourcedReader::optional_number(std::string_view key, Range<double> range) {
  const ConfigNode* value = value_of(key, Presence::kOptional);
  return value == nullptr ? std::nullopt : reader_.number(key, *value, range);
}

bool SourcedReader::flag(std::string_view key) {
  const ConfigNode* value = value_of(key, Presence::kRequired);
  return value != nullptr && reader_.flag(key, *value).value_or(false);
}

std::optional<bool> SourcedReader::optional_flag(std::string_view key) {
  const ConfigNode* value = value_of(key, Presence::kOptional);
  return value == nullptr ? std::nullopt : reader_.flag(key, *value);
}

std::string SourcedReader::text(std::string_view key) {
  const ConfigNode* value = value_of(key, Presence::kRequired);
  return value == nullptr ? "" : reader_.text(key, *value).value_or("");
}

std::vector<std::string> SourcedReader::texts(std::string_view key,
                                              std::span<const std::string_view> names) {
  MappingReader mapping = reader_.required_mapping(key);
  std::vector<std::string> texts;
  texts.reserve(names.size());
  std::string written;
  for (const std::string_view name : names) {
    texts.push_back(mapping.required_text(name));
    written += (written.empty() ? "" : ", ") + std::string(name) + " " + texts.back();
  }
  record(std::move(mapping), key, std::move(written));
  return texts;
}

std::vector<SourcedRow> SourcedReader::rows(std::string_view key) {
  constexpr std::array<std::string_view, 4> kOrigin = {"source", "assumed", "kind", "note"};
  const ConfigNode* node = reader_.node().find(key);
  if (node == nullptr) {
    reader_.take_required(key);  // reports it
    return {};
  }
  std::vector<std::string_view> keys;
  keys.reserve(node->entries.size());
  for (const ConfigEntry& entry : node->entries) {
    if (std::find(kOrigin.begin(), kOrigin.end(), entry.key) == kOrigin.end()) {
      keys.push_back(entry.key);
    }
  }
  const std::vector<std::string> written = texts(key, keys);
  std::vector<SourcedRow> rows;
  rows.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    rows.push_back({std::string(keys[i]), written[i]});
  }
  return rows;
}

std::optional<SourcedReader> SourcedReader::optional_mapping(std::string_view key) {
  std::optional<MappingReader> inner = reader_.optional_mapping(key);
  if (!inner) {
    return std::nullopt;
  }
  return SourcedReader(std::move(*inner), *sources_, *record_);
}

SourcedReader reader_of_file(const ConfigNode& root, SourceTable& sources,
                             std::vector<Provenance>& record, Diagnostics& diagnostics) {
  MappingReader top(root, "", diagnostics);
  sources.merge(read_sources(top, "sources"));
  return {std::move(top), sources, record};
}

}  // namespace stepcast
