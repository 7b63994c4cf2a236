// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree in which every value and every key knows its place.
//
// Stricter than YAML: one document, at most kLargestConfig bytes, text keys, no repeated keys, no
// anchors, aliases or tags. Scalars stay text; typing them is the reader's job
// (mapping_reader.hpp).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestConfig = 4U << 20U;  // bytes

struct ConfigEntry;

// Where in a file something stands; without a file it was not read from one.
struct ConfigPlace {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;

  [[nodiscard]] Location location() const { return {file ? *file : std::string{}, line, column}; }
};

struct ConfigNode : ConfigPlace {
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  Kind kind = Kind::kNull;
  std::string text;                  // of a scalar
  bool quoted = false;               // a quoted scalar is text, never a number or a truth value
  std::vector<ConfigNode> items;     // of a sequence
  std::vector<ConfigEntry> entries;  // of a mapping, in the order of the file

  // The value of `key` in a mapping, or null.
  [[nodiscard]] const ConfigNode* find(std::string_view key) const;
  // The same with its key.
  [[nodiscard]] const ConfigEntry* entry(std::string_view key) const;
  [[nodiscard]] ConfigEntry* entry(std::string_view key);
};

struct ConfigEntry {
  std::string key;
  int line = 0;
  int column = 0;
  ConfigNode value;

  // Of the key.
  [[nodiscard]] Location location() const {
    return {value.file ? *value.file : std::string{}, line, column};
  }
};

// A value of a kind that holds nothing yet, and a scalar whose text has no quotes.
ConfigNode empty_at(const ConfigPlace& place, ConfigNode::Kind kind);
ConfigNode scalar_at(const ConfigPlace& place, std::string text);

// Parses `text`; `name` is what diagnostics call it. Throws ConfigError with all problems found.
ConfigNode parse_config(std::string_view text, const std::string& name);

// Reads and parses a file. Throws ConfigError if it cannot be read.
ConfigNode load_config(const std::filesystem::path& file);

// The contents of a file. Throws ConfigError if it cannot be read or is larger than `largest`
// bytes.
std::string read_file(const std::filesystem::path& file, std::size_t largest = kLargestConfig);

// `base` with what `changes` says in its place, mapping by mapping; other values are replaced.
ConfigNode changed(ConfigNode base, const ConfigNode& changes);

// What is set besides a file: "plan.tp=8", the YAML text 8 at the dotted key plan.tp.
struct Override {
  std::string assignment;
  std::string place;      // what diagnostics call it: the option that says so, with its value
  bool has_lines = true;  // whether they say where in the value

  // As the option --set gives it; implicit, for lists of assignments.
  // NOLINTBEGIN(google-explicit-constructor)
  Override(std::string of_set) : assignment(std::move(of_set)), place("--set " + assignment) {}
  Override(const char* of_set) : Override(std::string(of_set)) {}
  // NOLINTEND(google-explicit-constructor)
  // As an option of its own gives it: of a value on a command line nobody counts lines.
  Override(std::string key_and_value, std::string option)
      : assignment(std::move(key_and_value)), place(std::move(option)), has_lines(false) {}
  bool operator==(const Override&) const = default;
};

// Sets it in `root`, making mappings on the way. Throws ConfigError if the assignment has no '=' or
// runs through a scalar.
void apply_override(ConfigNode& root, const Override& override);
void apply_overrides(ConfigNode& root, const std::vector<Override>& overrides);

}  // namespace stepcast
