// SPDX-License-Identifier: Apache-2.0
// Words of the field and of our reports, from configs/glossary.yaml.
#pragma once

#include <string>
#include <vector>

#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

struct Word {
  std::string word;
  std::vector<std::string> also;  // other names of it
  std::string means;
};

// In the order of the file; none without it. Throws ConfigError with all of its problems.
std::vector<Word> load_glossary(const DataRoot& data);

// "tp: Tensor parallelism: ..." for a word or one of its other names, in any case of their letters;
// empty where there is none.
std::string meaning_of_word(const std::string& word, const DataRoot& data);

}  // namespace stepcast
