// SPDX-License-Identifier: Apache-2.0
// One key of a framework's file with its value, as it stood there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// Scalars are text: a reader types them. A switch that is given without a value is "true".
struct Setting {
  std::string name;  // in the framework's words: "tensor_model_parallel_size", "training.seq_len"
  ConfigNode value;  // with its place
};

// The names in a text that has blanks between them, as lists of hundreds are written. A name that
// ends in '*' stands for all that begin so, and '' for the key of an assignment that has none.
std::vector<std::string_view> names_in(std::string_view text);
bool stands_for(std::string_view listed, std::string_view name);
// Whether one of the names in such a text stands for `name`.
bool is_among(std::string_view names, std::string_view name);

Setting text_setting(std::string name, std::string value, const Location& where);

// KEY=VALUE without the variables of a script, whose names have no small letter.
std::vector<std::string> words_of_settings(const std::vector<std::string>& overrides);

// Assignments of a command line as settings: KEY=VALUE, --KEY=VALUE, or --KEY for a switch. Throws
// ConfigError for a text that is none of them.
std::vector<Setting> assignment_settings(const std::vector<std::string>& overrides);

}  // namespace stepcast
