// SPDX-License-Identifier: Apache-2.0
#include "frameworks/file_formats.hpp"

#include <algorithm>
#include <utility>

#include "frameworks/huggingface.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {
namespace {

// A key of data, or a line of a text.
struct FormatSign {
  std::string text;
  int line = 0;
  int column = 0;
};

// Deeper than any file of a framework is, and few enough for any that is none.
constexpr int kDeepestSign = 8;
constexpr std::size_t kMostSigns = 20'000;

void add_keys(const ConfigNode& node, const std::string& before, int depth,
              std::vector<FormatSign>& signs) {
  if (depth > kDeepestSign || signs.size() > kMostSigns) {
    return;
  }
  for (const ConfigEntry& entry : node.entries) {
    const std::string name = before + entry.key;
    signs.push_back({name, entry.line, entry.column});
    add_keys(entry.value, name + ".", depth + 1, signs);
  }
}

// The lines of a text, with `each` of which something is done.
template <typename Each>
void each_line(std::string_view text, const Each& each) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    each(text.substr(0, end), line);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

// The key with which a line of a text begins that is nearly YAML or JSON; empty where it has none.
std::string_view key_of_line(std::string_view line, TextForm form) {
  if (form == TextForm::kJson) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t{"), line.size()));
    const std::size_t end = line.starts_with('"') ? line.find('"', 1) : std::string_view::npos;
    const bool key = end != std::string_view::npos && line.substr(end + 1).starts_with(':');
    return key ? line.substr(1, end - 1) : std::string_view{};
  }
  const std::string_view key = line.substr(0, line.find(':'));
  const bool whole = key.size() < line.size() && !key.empty() && ascii::is_letter(key[0]) &&
                     key.find(' ') == std::string_view::npos;
  return whole ? key : std::string_view{};
}

// Keys of a text that is nearly one: several documents, anchors, templates, numbers of Python.
std::vector<FormatSign> keys_of_lines(std::string_view text, TextForm form) {
  std::vector<FormatSign> signs;
  each_line(text, [&](std::string_view line, int number) {
    const std::string_view key = key_of_line(line, form);
    if (!key.empty() && signs.size() < kMostSigns) {
      signs.push_back({std::string(key), number, 1});
    }
  });
  return signs;
}

std::vector<FormatSign> keys_of_data(const ReadText& read) {
  std::vector<FormatSign> signs;
  if (read.document) {
    add_keys(*read.document, {}, 0, signs);
  }
  return signs.empty() ? keys_of_lines(read.text, read.form) : signs;
}

// The lines without what a script or Python does not read.
std::vector<FormatSign> lines_that_count(std::string_view text) {
  std::vector<FormatSign> signs;
  each_line(text, [&](std::string_view line, int number) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '#') {
      signs.push_back({std::string(line), number, static_cast<int>(first) + 1});
    }
  });
  return signs;
}

FormatForm format_form(TextForm form) {
  switch (form) {
    case TextForm::kJson:
    case TextForm::kYaml:
      return FormatForm::kData;
    case TextForm::kToml:
      return FormatForm::kToml;
    case TextForm::kShell:
      return FormatForm::kScript;
    case TextForm::kPython:
      return FormatForm::kPython;
  }
  return FormatForm::kData;
}

// A text with its signs, which are looked for once.
class SeenText {
 public:
  explicit SeenText(const ReadText& read)
      : file_(read.file), form_(format_form(read.form)), lines_(lines_that_count(read.text)) {
    if (form_ == FormatForm::kData) {
      keys_ = keys_of_data(read);
    }
  }

  // The sign by which the text is of a format; nothing where it lacks one that it needs.
  [[nodiscard]] std::optional<RecognizedFile> as(const FileFormat& format) const {
    if (format.form.value_or(form_) != form_) {
      return std::nullopt;
    }
    const FormatSign* found = nullptr;
    for (const std::string& key : format.with) {
      found = key_named(key);
      if (found == nullptr) {
        return std::nullopt;
      }
    }
    const bool wants_more = !format.keys.empty() || !format.says.empty() || found == nullptr;
    return wants_more ? one_of(format) : std::optional(told(format, found->text, *found));
  }

 private:
  [[nodiscard]] std::optional<RecognizedFile> one_of(const FileFormat& format) const {
    for (const std::string& key : format.keys) {
      if (const FormatSign* const sign = key_named(key)) {
        return told(format, key, *sign);
      }
    }
    for (const std::string& part : format.says) {
      const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const FormatSign& sign) {
        return sign.text.find(part) != std::string::npos;
      });
      if (found != lines_.end()) {
        return told(format, part, *found);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] const FormatSign* key_named(const std::string& key) const {
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const FormatSign& sign) { return sign.text == key; });
    return found == keys_.end() ? nullptr : &*found;
  }

  [[nodiscard]] RecognizedFile told(const FileFormat& format, const std::string& text,
                                    const FormatSign& sign) const {
    return {format, text, {file_, sign.line, sign.column}};
  }

  std::string file_;
  FormatForm form_;
  std::vector<FormatSign> lines_;
  std::vector<FormatSign> keys_;
};

FileFormat format_in(const ConfigNode& row, Diagnostics& diagnostics) {
  MappingReader reader(row, "formats", diagnostics);
  FileFormat format;
  format.name = reader.required_text("name");
  if (reader.has("form")) {
    format.form = reader.required_choice("form", enum_names<FormatForm>());
  }
  format.keys = reader.optional_texts("keys");
  format.with = reader.optional_texts("with");
  format.says = reader.optional_texts("says");
  format.door = reader.optional_name("door");
  format.remedy = reader.optional_name("remedy");
  format.is_experiment = reader.optional_flag("is_experiment").value_or(false);
  if (format.keys.empty() && format.with.empty() && format.says.empty()) {
    reader.error("name", "needs 'keys', 'with' or 'says', by which a file is known");
  }
  if (format.door.empty() == format.remedy.empty()) {
    reader.error("name", "needs either 'door', what imports it, or 'remedy', what to do instead");
  }
  reader.finish();
  return format;
}

}  // namespace

std::vector<FileFormat> read_file_formats(const ConfigNode& root) {
  Diagnostics diagnostics;
  MappingReader reader(root, std::string{}, diagnostics);
  std::vector<FileFormat> formats;
  if (const ConfigNode* const rows = reader.take_required("formats")) {
    for (const ConfigNode& row : rows->items) {
      formats.push_back(format_in(row, diagnostics));
    }
  }
  reader.finish();
  diagnostics.throw_if_any();
  return formats;
}

std::optional<RecognizedFile> recognized_file(const ReadText& read,
                                              const std::vector<FileFormat>& formats) {
  const SeenText seen(read);
  for (const FileFormat& format : formats) {
    if (std::optional<RecognizedFile> found = seen.as(format)) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<RecognizedFile> recognized_file(const ReadText& read, const DataRoot& data) {
  const std::vector<FileFormat> formats =
      read_file_formats(load_config(data.folder / "configs/frameworks/formats.yaml"));
  if (std::optional<RecognizedFile> found = recognized_file(read, formats)) {
    return found;
  }
  const std::string door(huggingface_door(read));
  if (door.empty()) {
    return std::nullopt;
  }
  FileFormat format;
  format.name = "a file of '" + door + "'";
  format.door = door;
  return RecognizedFile{std::move(format), {}, {read.file, 0, 0}};
}

bool has_keys(const ReadText& read) { return !keys_of_lines(read.text, read.form).empty(); }

std::string told_format(const RecognizedFile& file) {
  return file.format.name + (file.sign.empty() ? "" : ", by its '" + file.sign + "'");
}

}  // namespace stepcast
