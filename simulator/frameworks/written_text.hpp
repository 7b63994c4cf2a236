// SPDX-License-Identifier: Apache-2.0
// Texts of an experiment as the files of frameworks write them, whatever letters they have.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace stepcast
