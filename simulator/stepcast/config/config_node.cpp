// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_node.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <utility>

#include "stepcast/base/utf8.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/told_name.hpp"

namespace stepcast {
namespace {

void refuse_other_encodings(std::string_view text, const std::string& name) {
  const std::size_t at = first_not_utf8(text);
  if (at != std::string_view::npos) {
    const std::string_view before = text.substr(0, at);
    const std::size_t begin = before.rfind('\n') + 1;  // of its line; npos + 1 is 0
    const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    throw ConfigError({name, line, static_cast<int>(at - begin) + 1},
                      "this is no text in UTF-8; save the file in that encoding");
  }
}

void refuse_binary(std::string_view text, const std::string& name) {
  int line = 1;
  int column = 0;
  for (const char c : text) {
    ++column;
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      ++line;
      column = 0;
    } else if (byte == 0x7F || (byte < 0x20 && c != '\t' && c != '\r')) {
      throw ConfigError({name, line, column},
                        "this is no text file: it holds a control character; give a YAML file");
    }
  }
}

void assign(ConfigNode& mapping, std::string_view dotted_key, ConfigNode value) {
  const std::size_t dot = dotted_key.find('.');
  const std::string_view key = dotted_key.substr(0, dot);
  ConfigEntry* const entry = mapping.entry(key);
  if (dot == std::string_view::npos) {
    if (entry == nullptr) {
      mapping.entries.push_back({std::string(key), 1, 1, std::move(value)});
    } else {
      entry->value = std::move(value);
    }
    return;
  }
  const std::string_view rest = dotted_key.substr(dot + 1);
  if (entry == nullptr) {
    ConfigNode inner = empty_at(value, ConfigNode::Kind::kMapping);
    assign(inner, rest, std::move(value));
    mapping.entries.push_back({std::string(key), 1, 1, std::move(inner)});
    return;
  }
  ConfigNode& inner = entry->value;
  if (inner.kind == ConfigNode::Kind::kScalar && key == "software") {
    // A named set with one switch changed: {base: name, switch: value}.
    ConfigNode set = empty_at(inner, ConfigNode::Kind::kMapping);
    set.entries.push_back({"base", inner.line, 1, std::move(inner)});
    inner = std::move(set);
  } else if (inner.kind == ConfigNode::Kind::kNull) {
    inner = empty_at(value, ConfigNode::Kind::kMapping);
  } else if (inner.kind != ConfigNode::Kind::kMapping) {
    throw ConfigError(value.location(), "'" + std::string(key) + "' is not a mapping, so '" +
                                            std::string(rest) + "' cannot be set in it");
  }
  assign(inner, rest, std::move(value));
}

// Whether a value says that the key has none, as a config file may; a comment or a tag does not.
bool says_null(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  const std::string_view word = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  return word == "null" || word == "Null" || word == "NULL" || word == "~";
}

void drop_lines(ConfigNode& node) {
  node.line = node.column = 0;
  for (ConfigNode& item : node.items) {
    drop_lines(item);
  }
  for (ConfigEntry& entry : node.entries) {
    entry.line = entry.column = 0;
    drop_lines(entry.value);
  }
}

// A text in YAML, which may hold nothing: then it is null.
ConfigNode parse_any(std::string_view text, const std::string& name) {
  if (text.size() > kLargestConfig) {
    throw ConfigError({name, 0, 0}, "the file is larger than 4 MiB; this is no config file");
  }
  refuse_binary(text, name);
  refuse_other_encodings(text, name);
  const auto file = std::make_shared<const std::string>(name);
  if (std::optional<ConfigNode> plain = read_plain_yaml(text, file)) {
    return *std::move(plain);
  }
  return read_full_yaml(text, file);
}

// The same of a text without lines: what is wrong with it is told of `name` as a whole.
ConfigNode parse_value(std::string_view text, const std::string& name) {
  try {
    ConfigNode value = parse_any(text, name);
    drop_lines(value);
    return value;
  } catch (const ConfigError& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    for (Diagnostic& diagnostic : diagnostics) {
      diagnostic.where.line = diagnostic.where.column = 0;
    }
    throw ConfigError(std::move(diagnostics), error.uncollected());
  }
}

}  // namespace

const ConfigEntry* ConfigNode::entry(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const ConfigEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

ConfigEntry* ConfigNode::entry(std::string_view key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).entry(key));
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  const ConfigEntry* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

ConfigNode empty_at(const ConfigPlace& place, ConfigNode::Kind kind) {
  return {place, kind, {}, false, {}, {}};
}

ConfigNode scalar_at(const ConfigPlace& place, std::string text) {
  return {place, ConfigNode::Kind::kScalar, std::move(text), false, {}, {}};
}

ConfigNode parse_config(std::string_view text, const std::string& name) {
  ConfigNode root = parse_any(text, name);
  if (root.kind == ConfigNode::Kind::kNull) {
    throw ConfigError({name, 1, 1}, "the file is empty; it needs a mapping of keys to values");
  }
  return root;
}

std::string read_file(const std::filesystem::path& file, std::size_t largest) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw ConfigError({told_name(file), 0, 0}, "this is a folder; give a file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw ConfigError({told_name(file), 0, 0},
                      "cannot open the file; check that it exists and is readable");
  }
  std::string text;
  constexpr std::size_t kBlock = 1U << 14U;
  std::array<char, kBlock> block{};
  while (stream) {
    stream.read(block.data(), kBlock);
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest) {
      throw ConfigError({told_name(file), 0, 0}, "the file is larger than " +
                                                     std::to_string(largest >> 20U) +
                                                     " MiB; is it the right one?");
    }
  }
  if (stream.bad()) {
    throw ConfigError({told_name(file), 0, 0}, "reading the file failed");
  }
  return text;
}

ConfigNode load_config(const std::filesystem::path& file) {
  return parse_config(read_file(file), told_name(file));
}

void apply_override(ConfigNode& root, const Override& override) {
  constexpr std::size_t kLongest = 100;  // of what messages repeat
  const std::string name =
      override.place.substr(0, kLongest) + (override.place.size() > kLongest ? "..." : "");
  const std::string_view assignment = override.assignment;
  const std::size_t equals = assignment.find('=');
  const std::string_view key = assignment.substr(0, equals);
  if (equals == std::string_view::npos || key.empty() || key.front() == '.' || key.back() == '.' ||
      key.find("..") != std::string_view::npos) {
    throw ConfigError({name, 0, 0}, "write an assignment like plan.tp=8");
  }
  constexpr auto kDeepest = 16;
  if (std::count(key.begin(), key.end(), '.') > kDeepest) {
    throw ConfigError({name, 0, 0}, "a key of more than 16 dots is no key of an experiment");
  }
  if (assignment.substr(equals + 1).find_first_not_of(' ') == std::string_view::npos) {
    throw ConfigError({name, 0, 0}, "gives '" + std::string(key) + "' no value; write one after =");
  }
  const std::string_view text = assignment.substr(equals + 1);
  ConfigNode value = override.has_lines ? parse_any(text, name) : parse_value(text, name);
  if (value.kind == ConfigNode::Kind::kNull && !says_null(text)) {
    throw ConfigError({name, 0, 0}, "gives '" + std::string(key) + "' no value; write one after =");
  }
  assign(root, key, std::move(value));
}

void apply_overrides(ConfigNode& root, const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    apply_override(root, override);
  }
}

ConfigNode changed(ConfigNode base, const ConfigNode& changes) {
  for (const ConfigEntry& change : changes.entries) {
    ConfigEntry* const same = base.entry(change.key);
    if (same == nullptr) {
      base.entries.push_back(change);
      continue;
    }
    const bool both = same->value.kind == ConfigNode::Kind::kMapping &&
                      change.value.kind == ConfigNode::Kind::kMapping;
    same->value = both ? changed(std::move(same->value), change.value) : change.value;
  }
  return base;
}

}  // namespace stepcast
