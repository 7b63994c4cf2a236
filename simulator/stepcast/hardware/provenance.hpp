// SPDX-License-Identifier: Apache-2.0
// Where a number of a hardware profile comes from.
//
// In a profile every number is a small mapping: {value: 304, source: CDNA3WP, kind: spec}, or
// {value: 2.8 us, assumed: as MI300X, no published figure}. `source` names an entry of the file's
// own `sources` mapping, or one of the file `sources.yaml` beside the folders of profiles.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// In the order of what a value may be trusted for, the most first.
enum class SourceKind {
  kSpec,      // a vendor's document, or what the experiment itself states
  kMeasured,  // somebody's published measurement
  kDerived,   // arithmetic on sourced numbers
  kFitted,    // fitted to measurements by `stepcast calibrate`
  kAssumed,   // unknown; the reason of the value is given
};
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<SourceKind> = {
    "spec", "measured", "derived", "fitted", "assumed"};

struct Provenance {
  std::string key;    // "hbm.capacity"
  std::string value;  // as written
  SourceKind kind = SourceKind::kAssumed;
  std::string source;  // the key of a source, or why it is assumed
  std::string note;
  std::string stated_in;  // the file's name without its ending
  std::string file;       // with its folder: "gpus/h100_sxm.yaml"
};

// The source of what an experiment states instead of its profiles.
inline constexpr std::string_view kOfExperiment = "the experiment";

// `own` takes the place of what was said of the number of its key; else nothing changes.
void restate(std::vector<Provenance>& record, const Provenance& own);

// Whether a profile must give a number. One that is left out keeps its default; of values by format
// any may be left out, or any but bf16.
enum class Presence { kRequired, kOptional, kNeedsBf16 };

// Source key -> what and where it is.
using SourceTable = std::map<std::string, std::string>;

// Reads the `sources` mapping of a profile or of sources.yaml.
SourceTable read_sources(MappingReader& reader, std::string_view key);

struct SourcedRow {
  std::string key;
  std::string text;
};

// Reads numbers of one mapping of a profile and records where each comes from.
class SourcedReader {
 public:
  SourcedReader(MappingReader reader, const SourceTable& sources, std::vector<Provenance>& record)
      : reader_(std::move(reader)), sources_(&sources), record_(&record) {}

  template <typename Q>
  Q quantity(std::string_view key, const UnitRange& range) {
    return found_quantity<Q>(key, Presence::kRequired, range).value_or(Q{});
  }
  template <typename Q>
  std::optional<Q> optional_quantity(std::string_view key, const UnitRange& range) {
    return found_quantity<Q>(key, Presence::kOptional, range);
  }
  std::int64_t count(std::string_view key, Range<std::int64_t> range);
  std::optional<std::int64_t> optional_count(std::string_view key, Range<std::int64_t> range);
  double number(std::string_view key, Range<double> range);
  std::optional<double> optional_number(std::string_view key, Range<double> range);
  template <typename E>
  E choice(std::string_view key, std::span<const NamedValue<E>> choices) {
    const ConfigNode* value = value_of(key, Presence::kRequired);
    const E fallback = choices.front().value;
    return value == nullptr ? fallback : reader_.choice<E>(key, *value, choices).value_or(fallback);
  }

  bool flag(std::string_view key);
  std::optional<bool> optional_flag(std::string_view key);
  std::string text(std::string_view key);
  // The texts of a mapping that has one source for all of them, {causal: 128x64, full: 128x64,
  // source: KEY}: those of `names`, in their order.
  std::vector<std::string> texts(std::string_view key, std::span<const std::string_view> names);
  // Of such a mapping all rows, in their order: {64: 128x128, 128: 128x64, source: KEY}.
  std::vector<SourcedRow> rows(std::string_view key);

  [[nodiscard]] bool has(std::string_view key) const { return reader_.has(key); }
  SourcedReader mapping(std::string_view key) {
    return {reader_.required_mapping(key), *sources_, *record_};
  }
  std::optional<SourcedReader> optional_mapping(std::string_view key);
  MappingReader& reader() { return reader_; }
  void finish() { reader_.finish(); }

 private:
  // The node of the number behind `key`; its provenance is recorded.
  const ConfigNode* value_of(std::string_view key, Presence presence);
  // Reads where the numbers of a mapping come from and ends with it.
  void record(MappingReader mapping, std::string_view key, std::string value);

  template <typename Q>
  std::optional<Q> found_quantity(std::string_view key, Presence presence, const UnitRange& range) {
    const ConfigNode* value = value_of(key, presence);
    return value == nullptr ? std::nullopt : reader_.quantity<Q>(key, *value, range);
  }

  MappingReader reader_;
  const SourceTable* sources_;
  std::vector<Provenance>* record_;
};

// The reader of a file that a profile names. Its own sources are added to the shared `sources`; the
// reader adds where each number comes from to `record`, and what is wrong to `diagnostics`.
SourcedReader reader_of_file(const ConfigNode& root, SourceTable& sources,
                             std::vector<Provenance>& record, Diagnostics& diagnostics);

}  // namespace stepcast
