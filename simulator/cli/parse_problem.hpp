// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line that cannot be parsed, in the style of other messages: a word
// that names no command or no option, with the nearest one that there is, or what CLI11 says.
//
//   command line: error: there is no command 'projet'; did you mean 'project'?
//   --format: error: xml not in {text,json,csv}; see 'stepcast project --help'
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace stepcast::cli {

// What CLI11 says of a command line whose words are known.
ConfigError parse_problem(const CLI::ParseError& error, const CLI::App& program);

// The first word of `arguments`, which are without the program's name, that names no command or no
// option, as a problem; nothing where the command line is wrong in another way.
std::optional<std::string> unknown_word(const CLI::App& program,
                                        const std::vector<std::string>& arguments);

}  // namespace stepcast::cli
