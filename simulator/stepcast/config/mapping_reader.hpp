// SPDX-License-Identifier: Apache-2.0
// Reads one YAML mapping strictly: each key is asked for once, what nobody asked for is an error.
//
// A problem is recorded in the Diagnostics and reading goes on with a default value, so that one
// run reports every problem of a file; the caller ends with Diagnostics::throw_if_any(). The reader
// knows no type of the domain.
//
//   MappingReader hbm = reader.mapping("hbm");
//   spec.capacity = hbm.required<Bytes>("capacity");
//   spec.bandwidth = hbm.required<BytesPerSecond>("bandwidth");
//   hbm.finish();
#pragma once

#include <cstdint>
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

namespace stepcast {

// The range that a number must lie in, ends included.
template <typename T>
struct Range {
  T lowest;
  T highest;
};

inline constexpr Range<std::int64_t> kPositiveCount{1, 1'000'000'000'000};
inline constexpr Range<std::int64_t> kCount{0, 1'000'000'000'000};
inline constexpr Range<double> kFraction{0.0, 1.0};

template <typename E>
struct NamedValue {
  std::string_view name;
  E value;
};

class MappingReader {
 public:
  // `path` names the mapping in messages ("hbm"); empty for the file's root.
  MappingReader(const ConfigNode& node, std::string path, Diagnostics& diagnostics);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const ConfigNode& node() const { return *node_; }
  [[nodiscard]] Location location() const { return node_->location(); }
  // Where the value of `key` stands, or the mapping itself if it has no such key.
  [[nodiscard]] Location location(std::string_view key) const;
  [[nodiscard]] Diagnostics& diagnostics() const { return *diagnostics_; }
  void error(std::string_view key, std::string message) const;

  // Marks `key` as read and gives its node, null if it is absent or has no value.
  const ConfigNode* take(std::string_view key);
  // The same, and an error if it is absent.
  const ConfigNode* take_required(std::string_view key);

  std::string required_text(std::string_view key);
  std::string optional_text(std::string_view key, const std::string& fallback = {});
  std::int64_t required_count(std::string_view key, Range<std::int64_t> range = kPositiveCount);
  std::int64_t optional_count(std::string_view key, std::int64_t fallback,
                              Range<std::int64_t> range = kCount);
  double required_number(std::string_view key, Range<double> range);
  double optional_number(std::string_view key, double fallback, Range<double> range);
  std::optional<bool> optional_flag(std::string_view key);
  std::vector<std::string> optional_texts(std::string_view key);

  // A quantity with a unit, finite and not negative.
  template <typename Q>
  Q required_quantity(std::string_view key) {
    const ConfigNode* value = take_required(key);
    return value == nullptr ? Q{} : quantity<Q>(key, *value).value_or(Q{});
  }
  template <typename Q>
  Q optional_quantity(std::string_view key, Q fallback) {
    const ConfigNode* value = take(key);
    return value == nullptr ? fallback : quantity<Q>(key, *value).value_or(fallback);
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

  // Reports every key that nobody asked for, with the nearest known key.
  void finish();

  // The dotted path of a key of this mapping, for messages.
  [[nodiscard]] std::string path_of(std::string_view key) const;

  // Scalars of `key`, typed; an error and nothing if they are not.
  std::optional<std::int64_t> count(std::string_view key, const ConfigNode& value,
                                    Range<std::int64_t> range) const;
  std::optional<double> number(std::string_view key, const ConfigNode& value,
                               Range<double> range) const;
  std::optional<std::string> text(std::string_view key, const ConfigNode& value) const;
  std::optional<bool> flag(std::string_view key, const ConfigNode& value) const;

  template <typename Q>
  std::optional<Q> quantity(std::string_view key, const ConfigNode& value) const {
    const std::optional<std::string> written = scalar(key, value, quantity_example<Q>());
    if (!written) {
      return std::nullopt;
    }
    const ParsedQuantity<Q> parsed = parse_quantity<Q>(*written);
    if (!parsed.value) {
      report_quantity(key, value, *written, parsed.fault, quantity_example<Q>());
      return std::nullopt;
    }
    if (parsed.value->value() < 0.0) {
      report_negative(key, value, *written);
      return std::nullopt;
    }
    return parsed.value;
  }

  template <typename E>
  std::optional<E> choice(std::string_view key, const ConfigNode& value,
                          std::span<const NamedValue<E>> choices) const {
    const std::optional<std::string> written = text(key, value);
    if (!written) {
      return std::nullopt;
    }
    std::vector<std::string> names;
    for (const NamedValue<E>& entry : choices) {
      if (entry.name == *written) {
        return entry.value;
      }
      names.emplace_back(entry.name);
    }
    report_choice(key, value, *written, names);
    return std::nullopt;
  }

 private:
  std::optional<std::string> scalar(std::string_view key, const ConfigNode& value,
                                    std::string_view example) const;
  void error_at(const ConfigNode& value, std::string message) const;
  void report_quantity(std::string_view key, const ConfigNode& value, const std::string& written,
                       QuantityFault fault, std::string_view example) const;
  void report_negative(std::string_view key, const ConfigNode& value,
                       const std::string& written) const;
  void report_choice(std::string_view key, const ConfigNode& value, const std::string& written,
                     const std::vector<std::string>& names) const;

  const ConfigNode* node_;
  std::string path_;
  Diagnostics* diagnostics_;
  std::vector<std::string> asked_;  // every key that the reader knows, for suggestions
};

}  // namespace stepcast
