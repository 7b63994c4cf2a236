// SPDX-License-Identifier: Apache-2.0
// Reads one mapping of a YAML or JSON text: each key is asked for once. finish() refuses what
// nobody asked for; report_missing() leaves it to the caller, or to nobody.
//
// A problem is recorded in the Diagnostics and reading goes on with a default value, so that one
// run reports every problem of a file; the caller ends with Diagnostics::throw_if_any(). The reader
// knows no type of the domain.
//
//   MappingReader hbm = reader.mapping("hbm");
//   spec.capacity = hbm.required<Bytes>("capacity");
//   spec.bandwidth = hbm.required<BytesPerSecond>("bandwidth");
//   hbm.finish();
//
// Problems of a config file, which a person writes, stand at the value and say what to write.
// Problems of a record, one of many that a program writes, stand at the key and say what was
// expected and what is there; a key that is missing waits for finish() or report_missing(), which
// know the misspelt one that may be meant.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/error.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/scalar.hpp"
#include "stepcast/config/value_message.hpp"

namespace stepcast {

inline constexpr Range<std::int64_t> kPositiveCount{1, 1'000'000'000'000};
inline constexpr Range<std::int64_t> kCount{0, 1'000'000'000'000};
inline constexpr Range<double> kFraction{0.0, 1.0};

template <typename E>
struct NamedValue {
  std::string_view name;
  E value;
};

// How messages speak of a record.
struct RecordWording {
  std::string_view what;         // "line", "row", "operator"
  std::string_view remedy = {};  // for a missing key
};

class MappingReader {
 public:
  // `path` names the mapping of a config file in messages ("hbm"); empty for the file's root.
  MappingReader(const ConfigNode& node, std::string path, Diagnostics& diagnostics);
  // Of a record.
  MappingReader(const ConfigNode& node, RecordWording wording, Diagnostics& diagnostics);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const ConfigNode& node() const { return *node_; }
  [[nodiscard]] Location location() const { return node_->location(); }
  // Where problems of `key` are told: at its value, or at the key in a record; at the mapping
  // itself if it has no such key.
  [[nodiscard]] Location location(std::string_view key) const;
  // Whether somebody has asked for `key`, and whether it was there with a value.
  [[nodiscard]] bool asked(std::string_view key) const;
  [[nodiscard]] bool was_read(std::string_view key) const { return asked(key) && has(key); }
  // Whether none of `keys` had a problem, so that rules about them together make sense.
  [[nodiscard]] bool good(std::initializer_list<std::string_view> keys) const;
  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }
  void error(std::string_view key, std::string message) const;

  // Marks `key` as read and gives its node, null if it is absent or has no value.
  const ConfigNode* take(std::string_view key);
  // The same, and an error if it is absent. The null of a record is given, for its reader to
  // refuse.
  const ConfigNode* take_required(std::string_view key);

  std::string required_text(std::string_view key);
  std::string optional_text(std::string_view key, const std::string& fallback = {});
  // A text that names something (a part, a file, a software set), so an empty one is refused:
  // taking it for an absent key would hide that a script's variable was not set.
  std::string optional_name(std::string_view key, const std::string& fallback = {});
  std::int64_t required_count(std::string_view key, Range<std::int64_t> range = kPositiveCount);
  std::int64_t optional_count(std::string_view key, std::int64_t fallback,
                              Range<std::int64_t> range = kCount);
  double required_number(std::string_view key, Range<double> range);
  double optional_number(std::string_view key, double fallback, Range<double> range);
  std::optional<bool> optional_flag(std::string_view key);
  std::vector<std::string> optional_texts(std::string_view key);
  std::vector<std::int64_t> optional_counts(std::string_view key, Range<std::int64_t> range);

  // A quantity with a unit.
  template <typename Q>
  Q required_quantity(std::string_view key, const UnitRange& range) {
    const ConfigNode* value = take_required(key);
    return value == nullptr ? Q{} : quantity<Q>(key, *value, range).value_or(Q{});
  }
  template <typename Q>
  Q optional_quantity(std::string_view key, Q fallback, const UnitRange& range) {
    const ConfigNode* value = take(key);
    return value == nullptr ? fallback : quantity<Q>(key, *value, range).value_or(fallback);
  }

  template <typename E>
  E required_choice(std::string_view key, std::span<const NamedValue<E>> choices) {
    const ConfigNode* value = take_required(key);
    return value == nullptr ? choices.front().value
                            : choice(key, *value, choices).value_or(choices.front().value);
  }
  template <typename E>
  E optional_choice(std::string_view key, std::span<const NamedValue<E>> choices, E fallback) {
    const ConfigNode* value = take(key);
    return value == nullptr ? fallback : choice(key, *value, choices).value_or(fallback);
  }

  // The nested mapping of `key`. Without it: an error and an empty mapping.
  MappingReader required_mapping(std::string_view key);
  // The nested mapping of `key`, if there is one.
  std::optional<MappingReader> optional_mapping(std::string_view key);

  // Reports every key that is missing or that nobody asked for, with the nearest known key.
  void finish();
  // Reports the missing keys of a record alone.
  void report_missing();
  // Refuses a key that nobody asks for, and that is none of `others`, if it is one of those in
  // other capitals, or one letter away from one that is absent.
  void refuse_misspelt(std::initializer_list<std::string_view> others);

  // The dotted path of a key of this mapping, for messages.
  [[nodiscard]] std::string path_of(std::string_view key) const;

  // Scalars of `key`, typed; an error and nothing if they are not.
  std::optional<std::int64_t> count(std::string_view key, const ConfigNode& value,
                                    Range<std::int64_t> range) const;
  std::optional<double> number(std::string_view key, const ConfigNode& value,
                               Range<double> range) const;
  std::optional<std::string> text(std::string_view key, const ConfigNode& value) const;
  // As `text`, for a text that `optional_name` reads.
  std::optional<std::string> name(std::string_view key, const ConfigNode& value) const;
  std::optional<bool> flag(std::string_view key, const ConfigNode& value) const;

  template <typename Q>
  std::optional<Q> quantity(std::string_view key, const ConfigNode& value,
                            const UnitRange& range) const {
    const std::optional<std::string> written = scalar(key, value, quantity_example<Q>());
    if (!written) {
      return std::nullopt;
    }
    const ParsedQuantity<Q> parsed = parse_quantity<Q>(*written);
    if (!parsed.value) {
      refuse(key, value, quantity_message(*written, parsed.fault, quantity_example<Q>()));
    } else if (!(*parsed.value >= quantity_of<Q>(range.range.lowest, range.unit) &&
                 *parsed.value <= quantity_of<Q>(range.range.highest, range.unit))) {
      refuse(key, value, out_of_range_message(*written, range));
    } else {
      return parsed.value;
    }
    return std::nullopt;
  }

  template <typename E>
  std::optional<E> choice(std::string_view key, const ConfigNode& value,
                          std::span<const NamedValue<E>> choices) const {
    const bool readable = is_readable_text(value);
    std::vector<std::string> names;
    for (const NamedValue<E>& entry : choices) {
      if (readable && entry.name == value.text) {
        return entry.value;
      }
    }
    names.reserve(choices.size());
    for (const NamedValue<E>& entry : choices) {
      names.emplace_back(entry.name);
    }
    report_choice(key, value, names);
    return std::nullopt;
  }

 private:
  std::optional<std::string> scalar(std::string_view key, const ConfigNode& value,
                                    std::string_view example) const;
  void error_at(const ConfigNode& value, std::string message) const;
  // Records "'key'message" of a value of `key`, or of one of its items.
  void refuse(std::string_view key, const ConfigNode& value, const std::string& message,
              const std::string& index = {}) const;
  // Records that a record's key is not known.
  void refuse_key(const ConfigEntry& entry, const std::string& remedy) const;
  [[nodiscard]] std::string whole_message(const ConfigNode& value, NumberFault fault,
                                          Range<std::int64_t> range) const;
  [[nodiscard]] std::string number_message(const ConfigNode& value, NumberFault fault,
                                           Range<double> range) const;
  // Whether a text may be read from the value: that of a record stands in quotes.
  [[nodiscard]] bool is_readable_text(const ConfigNode& value) const;
  [[nodiscard]] const std::vector<ConfigNode>& list(std::string_view key);
  void report_choice(std::string_view key, const ConfigNode& value,
                     const std::vector<std::string>& names) const;

  const ConfigNode* node_;
  std::string path_;
  std::optional<RecordWording> record_;  // empty: a config file
  Diagnostics* diagnostics_;
  std::vector<std::string> asked_;           // every key that the reader knows, for suggestions
  mutable std::vector<std::string> failed_;  // keys with a problem, beside the diagnostics
  std::vector<std::string> missing_;         // of a record
};

// What a file calls what it describes: the text of `key`, in one line, for names stand in tables,
// scripts and comments, which a line feed would end.
std::string required_name(MappingReader& reader, std::string_view key = "name");

}  // namespace stepcast
