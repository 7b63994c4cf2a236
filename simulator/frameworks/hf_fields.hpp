// SPDX-License-Identifier: Apache-2.0
// The facts of a model (hf_types.hpp) as one config.json gives them: by the keys of its type's row,
// else by the row's values.
//
// A problem goes to the diagnostics of the reader and a value in range stands for what is wrong. A
// fact is read once, however often it is asked for. A key with several spellings must not
// contradict itself, and a list stands for a number where all of its items are the same.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/hf_types.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/model_ranges.hpp"

namespace stepcast {

class HfFields {
 public:
  HfFields(MappingReader& file, const HfType& type) : file_(file), type_(type) {}

  // For code that reads what no row says.
  [[nodiscard]] MappingReader& file() const { return file_; }
  [[nodiscard]] const HfType& type() const { return type_; }

  // Whether the file gives the fact, be it as null.
  bool given(HfFact fact);
  // Whether the row has a key or a value for it.
  [[nodiscard]] bool says(HfFact fact) const;
  // Without a value of the file or the row: `otherwise`, or the file must give it.
  std::int64_t count(HfFact fact, Range<std::int64_t> range,
                     std::optional<std::int64_t> otherwise = {});
  // Nothing where neither the file nor the row says it.
  std::optional<bool> flag(HfFact fact);
  double share(HfFact fact, double otherwise);
  // Of one the choices, by the word of the file or of the row.
  template <typename E>
  E choice(HfFact fact, std::span<const NamedValue<E>> choices, E otherwise) {
    const std::string word = this->word(fact);
    std::vector<std::string> names;
    for (const NamedValue<E>& choice : choices) {
      if (choice.name == word) {
        return choice.value;
      }
      names.emplace_back(choice.name);
    }
    if (!word.empty() && good({fact})) {
      refuse_word(fact, word, names);
    }
    return otherwise;
  }
  // Empty where neither the file nor the row gives one.
  std::string word(HfFact fact);
  std::vector<std::int64_t> list(HfFact fact, Range<std::int64_t> range);

  // The key that the file has, else the usual one of the type; the name of the fact without any.
  std::string key(HfFact fact);
  void error(HfFact fact, const std::string& message);
  // Whether no key of these had a problem.
  bool good(std::initializer_list<HfFact> facts);

  // Sizes that are the class's, since the file has none: "vocab_size 262208". Empty: all are given.
  [[nodiscard]] const std::vector<std::string>& of_class() const { return of_class_; }
  // Refuses the values of keys under which the type has no form.
  void refuse_values();

 private:
  // A key of the file, which may stand in a mapping of it: "attn_config.kv_n_heads".
  struct Place {
    MappingReader* reader = nullptr;
    std::string key;
    const ConfigNode* node = nullptr;  // null: the file has no such key
  };

  Place place_of(const std::string& key);
  std::vector<Place> given_places(HfFact fact);
  [[nodiscard]] const std::vector<std::string>& keys_of(HfFact fact) const;
  [[nodiscard]] const HfValue* value_of(HfFact fact) const;
  std::int64_t read_count(HfFact fact, Range<std::int64_t> range,
                          std::optional<std::int64_t> otherwise);
  std::int64_t count_at(const Place& place, HfFact fact, Range<std::int64_t> range);
  std::optional<std::int64_t> null_count(HfFact fact, Range<std::int64_t> range);
  std::int64_t missing_count(HfFact fact, Range<std::int64_t> range);
  std::int64_t computed(const HfExpression& expression, HfFact fact, Range<std::int64_t> range);
  std::int64_t operand(const HfTerm& term);
  // A divisor that does not divide is a problem of the file where it is of a fact.
  std::int64_t quotient(const HfExpression& expression, std::int64_t value, std::int64_t divisor,
                        HfFact fact);
  // Whether the refusal is of the value that a key has.
  bool refuses(const HfKeyRefusal& refusal, const std::string& value);
  void refuse_word(HfFact fact, const std::string& word, const std::vector<std::string>& names);

  MappingReader& file_;
  const HfType& type_;
  std::map<std::string, std::optional<MappingReader>> mappings_;
  std::map<HfFact, std::int64_t> counts_;
  std::vector<std::string> of_class_;
};

}  // namespace stepcast
