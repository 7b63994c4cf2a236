// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line that cannot be parsed though its words are known
// (unknown_words.hpp), in the style of other messages.
//
//   --format: error: xml not in {text,json,csv}; see 'stepcast project --help'
#pragma once

#include "stepcast/base/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace stepcast::cli {

ConfigError parse_problem(const CLI::ParseError& error, const CLI::App& program);

}  // namespace stepcast::cli
