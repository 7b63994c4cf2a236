// SPDX-License-Identifier: Apache-2.0
// What a file of somebody else is: configs/frameworks/formats.yaml, a row for each format with the
// signs by which it is known, and the framework that imports it, or what to do instead.
//
//   - name: a configuration of GPT-NeoX
//     form: data
//     keys: [pipe_parallel_size, "pipe-parallel-size"]
//     remedy: ...
//
// Rows are tried in their order. Scripts and Python are looked through for words and not followed,
// comments aside; of data the keys count, of which one that is not YAML shows those at its margin.
//
// When it is wrong: a file may have a sign for another reason, which is why the sign is told.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/read_text.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// The languages between which formats differ: JSON and YAML are both data.
enum class FormatForm { kData, kToml, kScript, kPython };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<FormatForm> = {"data", "toml", "script",
                                                                         "python"};

struct FileFormat {
  std::string name;                // "a configuration of GPT-NeoX"
  std::optional<FormatForm> form;  // nothing: any
  std::vector<std::string> keys;   // of which one is there, with dots on the way
  std::vector<std::string> with;   // all of which are there
  std::vector<std::string> says;   // parts of the text, of which one is there
  std::string door;                // what imports it; empty: nothing does
  std::string remedy;              // what to do instead
  bool is_experiment = false;      // of ours: `remedy` is not needed
};

// A file that is one of them, and the sign by which it is known.
struct RecognizedFile {
  FileFormat format;
  std::string sign;
  Location where;  // of the sign
};

// The rows. Throws ConfigError with every one that is wrong.
std::vector<FileFormat> read_file_formats(const ConfigNode& root);

// The first row whose signs a text has; nothing where none has.
std::optional<RecognizedFile> recognized_file(const ReadText& read,
                                              const std::vector<FileFormat>& formats);
// The same of the shipped rows, and of what Hugging Face's Trainer is run by.
std::optional<RecognizedFile> recognized_file(const ReadText& read, const DataRoot& data);

// A file that was looked at, for an import that need not look again.
struct SeenFile {
  ReadText read;
  std::optional<RecognizedFile> recognized;
};

// Whether a text has a line that is a key of YAML or JSON, though it need not be either as a whole.
bool has_keys(const ReadText& read);

// "is a configuration of GPT-NeoX, by its 'pipe_parallel_size'".
std::string told_format(const RecognizedFile& file);

}  // namespace stepcast
