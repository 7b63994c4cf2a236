// SPDX-License-Identifier: Apache-2.0
#include "stepcast/api/glossary.hpp"

#include <algorithm>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

std::vector<Word> load_glossary(const DataRoot& data) {
  std::vector<Word> words;
  if (!std::filesystem::exists(data.glossary())) {
    return words;
  }
  const ConfigNode root = load_config(data.glossary());
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  for (const ConfigEntry& entry : root.entries) {
    MappingReader reader = top.required_mapping(entry.key);
    words.push_back({entry.key, reader.optional_texts("also"), reader.required_text("means")});
    reader.finish();
  }
  top.finish();
  diagnostics.throw_if_any();
  return words;
}

std::string meaning_of_word(const std::string& word, const DataRoot& data) {
  const auto is_it = [&word](const std::string& name) { return ascii::same_letters(name, word); };
  std::string text;
  for (const Word& known : load_glossary(data)) {
    if (is_it(known.word) || std::ranges::any_of(known.also, is_it)) {
      text += known.word + "\n  " + known.means + "\n";
      text += known.also.empty() ? "" : "  also: " + text_list(known.also) + "\n";
    }
  }
  return text;
}

}  // namespace stepcast
