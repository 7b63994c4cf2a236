// SPDX-License-Identifier: Apache-2.0
#include "frameworks/framework_words.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {
namespace {

const ConfigNode* value_of(const std::vector<ConfigEntry>& entries, std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const ConfigEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

// The same of a value that may be a truth in Python's letters.
const ConfigNode* value_for(const std::vector<ConfigEntry>& entries, std::string_view word) {
  const ConfigNode* const exact = value_of(entries, word);
  return exact != nullptr  ? exact
         : word == "True"  ? value_of(entries, "true")
         : word == "False" ? value_of(entries, "false")
                           : nullptr;
}

ConfigEntry entry_of(std::string key, std::string_view value) {
  return {std::move(key), 0, 0, scalar_node(value)};
}

// Reads one row of a table.
class WordReader {
 public:
  WordReader(const ConfigNode& row, const std::string& list, Diagnostics& diagnostics)
      : reader_(row, list, diagnostics) {}

  FrameworkWord word() {
    read_names();
    word_.of = reader_.optional_name("of");
    word_.is = reader_.optional_name("is");
    word_.ours = reader_.optional_name("ours");
    word_.values = entries("values");
    if (const std::string opposite = reader_.optional_name("not"); !opposite.empty()) {
      word_.is = opposite;
      word_.values = {entry_of("true", "false"), entry_of("false", "true")};
    }
    word_.nearest = entries("nearest");
    word_.implies = entries("implies");
    word_.usual = reader_.optional_text("default", "false");
    word_.since = reader_.optional_name("since");
    word_.until = reader_.optional_name("until");
    read_effect();
    if (const ConfigNode* const part = reader_.take("saves")) {
      word_.saves = reader_.choice<MemoryPart>("saves", *part, enum_names<MemoryPart>());
      if (word_.effect != WordEffect::kChangesResult) {
        reader_.error("saves", "stands beside 'changes the result: WHY' alone; leave it out");
      }
    }
    reader_.finish();
    return std::move(word_);
  }

 private:
  void read_names() {
    const ConfigNode* const names = reader_.take_required("theirs");
    if (names != nullptr && names->kind == ConfigNode::Kind::kSequence) {
      word_.theirs = reader_.optional_texts("theirs");
    } else if (names != nullptr) {
      word_.theirs = {reader_.text("theirs", *names).value_or("")};
    }
  }

  std::vector<ConfigEntry> entries(std::string_view key) {
    const std::optional<MappingReader> mapping = reader_.optional_mapping(key);
    return mapping ? mapping->node().entries : std::vector<ConfigEntry>{};
  }

  // "no effect", "changes the result: why" or "refused: why".
  void read_effect() {
    constexpr std::string_view kNoEffect = "no effect";
    constexpr std::string_view kChanges = "changes the result: ";
    constexpr std::string_view kRefused = "refused: ";
    const std::string text = reader_.optional_text("else");
    if (text == kNoEffect) {
      word_.effect = WordEffect::kNone;
    } else if (text.starts_with(kChanges)) {
      word_.effect = WordEffect::kChangesResult;
      word_.why = text.substr(kChanges.size());
      refuse_wildcards();
    } else if (text.starts_with(kRefused)) {
      word_.effect = WordEffect::kRefused;
      word_.why = text.substr(kRefused.size());
    } else if (!text.empty()) {
      reader_.error(
          "else",
          "must be 'no effect', 'changes the result: WHY' or 'refused: WHY', not '" + text + "'");
    } else if (word_.is.empty() && word_.ours.empty()) {
      reader_.error("theirs", "needs 'is', 'not', 'ours' or 'else', which say what it means");
    }
  }

  // What changes a result is told by its very name.
  void refuse_wildcards() {
    if (std::any_of(word_.theirs.begin(), word_.theirs.end(),
                    [](const std::string& name) { return name.ends_with('*'); })) {
      reader_.error("theirs", "must be whole names where they change the result");
    }
  }

  MappingReader reader_;
  FrameworkWord word_;
};

std::vector<FrameworkWord> rows_of(const ConfigNode* rows, const std::string& list,
                                   Diagnostics& diagnostics) {
  std::vector<FrameworkWord> words;
  if (rows != nullptr) {
    words.reserve(rows->items.size());
    for (const ConfigNode& row : rows->items) {
      words.push_back(WordReader(row, list, diagnostics).word());
    }
  }
  return words;
}

ModelFlavor flavor_in(const ConfigNode& row, Diagnostics& diagnostics) {
  MappingReader reader(row, "models", diagnostics);
  ModelFlavor flavor;
  flavor.module = reader.optional_name("of");
  flavor.flavor = reader.required_text("theirs");
  flavor.ours = reader.required_text("ours");
  flavor.without_mtp = !reader.optional_flag("mtp").value_or(true);
  flavor.attention = reader.optional_name("attention");
  flavor.lacks = reader.optional_name("lacks");
  if (const std::optional<MappingReader> changes = reader.optional_mapping("changes")) {
    flavor.changes = changes->node();
  }
  reader.finish();
  return flavor;
}

std::vector<VocabularySize> sizes_of(std::optional<MappingReader> mapping) {
  std::vector<VocabularySize> sizes;
  if (mapping) {
    for (const ConfigEntry& entry : mapping->node().entries) {
      sizes.push_back({entry.key, mapping->required_count(entry.key)});
    }
  }
  return sizes;
}

// A value by the row's table; one that it does not have stays as it is.
void translate(const FrameworkWord& word, Setting& setting) {
  if (const ConfigNode* const present = value_for(word.values, setting.value.text)) {
    setting.value.text = present->text;
    setting.value.quoted = present->quoted;
  }
}

bool has(const std::vector<Setting>& settings, std::string_view name) {
  return std::any_of(settings.begin(), settings.end(),
                     [name](const Setting& setting) { return setting.name == name; });
}

// Whether a switch is on or a value given: one that is off or null says nothing besides.
bool says_something(const Setting& setting) {
  const std::string& text = setting.value.text;
  return setting.value.kind != ConfigNode::Kind::kNull && text != "None" && text != "null" &&
         text != "false" && text != "False";
}

}  // namespace

bool FrameworkWord::stands_for(std::string_view name) const {
  return std::any_of(theirs.begin(), theirs.end(), [name](const std::string& listed) {
    return listed.empty() ? name.empty() : stepcast::stands_for(listed, name);
  });
}

FrameworkWords::FrameworkWords(const ConfigNode& root) {
  Diagnostics diagnostics;
  MappingReader reader(root, std::string{}, diagnostics);
  (void)reader.required_text("name");
  (void)reader.take_required("read_from");
  words_ = rows_of(reader.take_required("words"), "words", diagnostics);
  programs_ = rows_of(reader.take("programs"), "programs", diagnostics);
  if (const ConfigNode* const rows = reader.take("models")) {
    for (const ConfigNode& row : rows->items) {
      models_.push_back(flavor_in(row, diagnostics));
    }
  }
  vocabularies_ = sizes_of(reader.optional_mapping("vocabularies"));
  own_vocabularies_ = sizes_of(reader.optional_mapping("own_vocabularies"));
  reader.finish();
  diagnostics.throw_if_any();
}

const FrameworkWord* FrameworkWords::program(std::string_view file) const {
  const std::string name = std::filesystem::path(file).filename().string();
  const auto found = std::find_if(programs_.begin(), programs_.end(),
                                  [&](const FrameworkWord& row) { return row.stands_for(name); });
  return found == programs_.end() ? nullptr : &*found;
}

const FrameworkWord* FrameworkWords::oldest(const std::vector<Setting>& settings) const {
  const FrameworkWord* oldest = nullptr;
  for (const Setting& setting : settings) {
    const FrameworkWord* const row = word(setting.name);
    const bool has_day = row != nullptr && !row->until.empty();
    if (has_day && (oldest == nullptr || row->until < oldest->until)) {
      oldest = row;
    }
  }
  return oldest;
}

const FrameworkWord* FrameworkWords::word(std::string_view theirs) const {
  const auto found = std::find_if(words_.begin(), words_.end(), [&](const FrameworkWord& word) {
    return std::find(word.theirs.begin(), word.theirs.end(), theirs) != word.theirs.end();
  });
  return found == words_.end() ? nullptr : &*found;
}

const FrameworkWord& FrameworkWords::known(std::string_view key) const {
  const FrameworkWord* const row = word(key);
  STEPCAST_CHECK(row != nullptr, "no row of a framework's table has " + std::string(key));
  return *row;
}

std::string FrameworkWords::field_of(const std::string& theirs) const {
  const FrameworkWord* const row = word(theirs);
  if (row == nullptr) {
    return theirs;
  }
  if (!row->is.empty()) {
    return row->is;
  }
  return row->implies.empty() ? theirs : row->implies.front().key;
}

std::vector<Setting> FrameworkWords::as_fields(std::vector<Setting> settings) const {
  const std::vector<Setting> given = settings;
  for (Setting& setting : settings) {
    const FrameworkWord* const row = word(setting.name);
    if (row == nullptr || row->is.empty() || (row->is_older() && has(given, row->is))) {
      continue;
    }
    setting.name = row->is;
    translate(*row, setting);
  }
  for (const Setting& setting : given) {
    const FrameworkWord* const row = word(setting.name);
    if (row == nullptr || !says_something(setting)) {
      continue;
    }
    for (const ConfigEntry& implied : row->implies) {
      if (!has(settings, implied.key)) {
        settings.push_back(text_setting(implied.key, implied.value.text, setting.value.location()));
      }
    }
  }
  return settings;
}

std::optional<Setting> FrameworkWords::as_argument(const Setting& field) const {
  Setting argument = field;
  for (const FrameworkWord& row : words_) {
    const bool turned_off = field.value.text == "false";
    if (row.is != field.name || row.is_older() || (row.values.empty() && turned_off)) {
      continue;
    }
    const auto found =
        std::find_if(row.values.begin(), row.values.end(), [&](const ConfigEntry& entry) {
          return entry.value.text == field.value.text && entry.key != "false";
        });
    if (row.values.empty() || found != row.values.end()) {
      argument.name = row.theirs.front();
      argument.value.text = row.values.empty() ? field.value.text : found->key;
      return argument;
    }
  }
  return field.value.text == "false" ? std::nullopt : std::optional(argument);
}

std::optional<std::string> FrameworkWords::ours_of(std::string_view key,
                                                   std::string_view theirs) const {
  const ConfigNode* const value = value_for(known(key).values, theirs);
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

const ConfigNode* FrameworkWords::switches_of(std::string_view key, std::string_view theirs) const {
  return value_for(known(key).values, theirs);
}

std::string FrameworkWords::theirs_of(std::string_view key, std::string_view ours) const {
  const std::vector<ConfigEntry>& values = known(key).values;
  const auto found = std::find_if(values.begin(), values.end(), [ours](const ConfigEntry& entry) {
    return entry.value.text == ours;
  });
  return found == values.end() ? std::string{} : found->key;
}

std::string FrameworkWords::nearest_note(std::string_view key, std::string_view theirs) const {
  const ConfigNode* const note = value_of(known(key).nearest, theirs);
  return note == nullptr ? std::string{} : note->text;
}

void FrameworkWords::read_rest(FrameworkReader& settings) const {
  for (const FrameworkWord& row : words_) {
    if (row.effect == WordEffect::kChangesResult) {
      for (const std::string& name : row.theirs) {
        settings.not_carried(name, row.why, row.usual, row.saves);
      }
    }
  }
  std::vector<std::string> told;
  for (const FrameworkWord& row : words_) {
    const bool is_told = std::find(told.begin(), told.end(), row.why) != told.end();
    if (row.effect == WordEffect::kRefused &&
        settings.refuse_rest([&row](std::string_view name) { return row.stands_for(name); },
                             row.usual, is_told ? std::string{} : row.why)) {
      told.push_back(row.why);
    }
  }
  settings.without_effect([&](std::string_view name) {
    return std::any_of(words_.begin(), words_.end(), [&](const FrameworkWord& row) {
      const bool superseded = row.is_older() && settings.has(row.is);
      return (superseded || row.effect == WordEffect::kNone) && row.stands_for(name);
    });
  });
}

FrameworkWords load_framework_words(const DataRoot& data, std::string_view framework) {
  return FrameworkWords(
      load_config(data.folder / "configs/frameworks" / (std::string(framework) + ".yaml")));
}

}  // namespace stepcast
