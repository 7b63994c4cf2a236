// SPDX-License-Identifier: Apache-2.0
// Texts of an experiment as the files of frameworks write them, whatever letters they have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/exported_file.hpp"

namespace stepcast {

// In double quotes, as TOML, YAML and JSON read alike: "a\"b", "a\\b".
std::string quoted_text(std::string_view text);

// A value of YAML: plain where it is a number or a word, else in quotes.
std::string yaml_value(std::string_view text);

// One argument of bash: plain where no letter has a meaning there, else in quotes.
std::string shell_argument(std::string_view text);
// The same, but plain words between spaces are an argument each: core_attn mlp.
std::string shell_arguments(std::string_view text);

// The name of a file or a folder: what is no letter, digit, dot, dash or underscore of ASCII is an
// underscore, as is a dot in front, so that no name leads to another folder: .._llama.
std::string file_name_of(std::string_view text);

// The lines of a file that is written key by key, "key = value" or "key: value".
class KeyLines {
 public:
  // `sign` stands between a key and its value, `heading` at the top as a comment.
  KeyLines(std::string_view sign, const std::string& heading);

  void line(std::string_view key, const std::string& value);
  void line(std::string_view key, std::int64_t value) { line(key, std::to_string(value)); }
  void text(std::string_view key, std::string_view value) { line(key, quoted_text(value)); }
  void section(std::string_view name);
  void comment(const std::string& text) { lines_ += "# " + text + "\n"; }
  // A comment that whoever launches the file is told as well.
  void note(std::string text);
  ExportedFile file(std::string name);

 private:
  std::string_view sign_;
  std::string lines_;
  std::vector<std::string> notes_;
};

}  // namespace stepcast
