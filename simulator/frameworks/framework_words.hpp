// SPDX-License-Identifier: Apache-2.0
// What a framework calls things: configs/frameworks/NAME.yaml, read both ways.
//
//   - {theirs: no_rope_fusion, not: apply_rope_fusion}
//   - {theirs: cp_comm_type, ours: plan.cp_algorithm, values: {p2p: ring, a2a: all_to_all}}
//   - {theirs: rampup_batch_size, else: "changes the result: the first steps have smaller batches"}
//   - {theirs: [lr, lr_*], else: no effect}
//
// A row names one key of the framework, or several of which the same is true; what its keys are
// stands in configs/frameworks/README.md. What no table says better than code (which of two keys
// counts, what follows from several together) is in the framework's readers, which ask for keys one
// by one; read_rest() is for those that nobody asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/known_model.hpp"
#include "frameworks/setting.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// What a key that nobody reads means for a prediction, where its value is not the usual one.
enum class WordEffect {
  kUnknown,        // nobody has said; it is refused as a key that is not known
  kNone,           // it changes nothing that is predicted
  kChangesResult,  // it does, and nothing here prices it
  kRefused,        // it is of what nothing here is
};

struct FrameworkWord {
  std::vector<std::string> theirs;   // a name that ends in '*' stands for all that begin so
  std::string of;                    // whose name it is where it is not the framework's own
  std::string is;                    // the field that the name sets
  std::string ours;                  // the key that a value becomes
  std::vector<ConfigEntry> values;   // by their word: ours, or that of the field
  std::vector<ConfigEntry> nearest;  // by their word: what ours does not say of it
  std::vector<ConfigEntry> implies;  // fields that the name sets besides, where nothing else does
  std::string usual = "false";       // the value that changes nothing
  std::string since;                 // the days between which the framework had the name, as in
  std::string until;                 // "2021-08-19"; empty: not known, and to this day
  WordEffect effect = WordEffect::kUnknown;
  std::string why;
  std::optional<MemoryPart> saves;  // what it lowers of memory, where nothing here prices it

  [[nodiscard]] bool stands_for(std::string_view name) const;
  // A name of another program, or one that the framework has given up.
  [[nodiscard]] bool is_older() const { return !of.empty() || !until.empty(); }
};

// The tokens of a vocabulary whose name is a part of what a tokenizer is called.
struct VocabularySize {
  std::string name;  // without capitals, '-', '_' and blanks
  std::int64_t tokens = 0;
};

class FrameworkWords {
 public:
  // Throws ConfigError with every row that is wrong.
  explicit FrameworkWords(const ConfigNode& root);

  [[nodiscard]] const std::vector<FrameworkWord>& words() const { return words_; }
  // The row that has this very name; null if none has.
  [[nodiscard]] const FrameworkWord* word(std::string_view theirs) const;
  // What a program that a script launches is, by the name of its file; null if no row says.
  [[nodiscard]] const FrameworkWord* program(std::string_view file) const;
  [[nodiscard]] const std::vector<VocabularySize>& vocabularies() const { return vocabularies_; }
  [[nodiscard]] const std::vector<ModelFlavor>& models() const { return models_; }
  // Of tokenizers by their type, to which a file adds tokens of its own.
  [[nodiscard]] const std::vector<VocabularySize>& own_vocabularies() const {
    return own_vocabularies_;
  }

  // Settings under the names of the fields that they set. An older name counts where the field
  // itself is not given.
  [[nodiscard]] std::vector<Setting> as_fields(std::vector<Setting> settings) const;
  // The field that a name of theirs sets, or else the first that it implies; a name that no row
  // says otherwise of is a field itself.
  [[nodiscard]] std::string field_of(const std::string& theirs) const;
  // The name among those given that the framework gave up first; null if it has all of them still.
  [[nodiscard]] const FrameworkWord* oldest(const std::vector<Setting>& settings) const;
  // The argument that sets a field to its value: no_rope_fusion for apply_rope_fusion: false; the
  // field itself where no argument has another name, and nothing where none turns it off.
  [[nodiscard]] std::optional<Setting> as_argument(const Setting& field) const;

  // Our word for a value of `key`; nothing if it has none.
  [[nodiscard]] std::optional<std::string> ours_of(std::string_view key,
                                                   std::string_view theirs) const;
  // The switches of a software set that a value of `key` stands for; nothing if it has none.
  [[nodiscard]] const ConfigNode* switches_of(std::string_view key, std::string_view theirs) const;
  // Their word for ours, the first of several; empty if there is none.
  [[nodiscard]] std::string theirs_of(std::string_view key, std::string_view ours) const;
  // What our word does not say of theirs; empty where it says all.
  [[nodiscard]] std::string nearest_note(std::string_view key, std::string_view theirs) const;

  // Keys that nobody asked for: listed, named as not priced, or refused.
  void read_rest(FrameworkReader& settings) const;

 private:
  // The row of a key whose values are read; a fault of the program if there is none.
  [[nodiscard]] const FrameworkWord& known(std::string_view key) const;

  std::vector<FrameworkWord> words_;
  std::vector<FrameworkWord> programs_;
  std::vector<ModelFlavor> models_;
  std::vector<VocabularySize> vocabularies_;
  std::vector<VocabularySize> own_vocabularies_;
};

// The table of configs/frameworks. Throws ConfigError if it is not there or wrong.
FrameworkWords load_framework_words(const DataRoot& data, std::string_view framework);

}  // namespace stepcast
