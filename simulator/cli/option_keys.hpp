// SPDX-License-Identifier: Apache-2.0
// Which key of an experiment an option of the command line sets: --tp is plan.tp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace CLI {
class App;
}

namespace stepcast::cli {

// Of the options that every experiment has whatever its plan and recipe; a fault of the program if
// there is no such option.
std::string_view key_of(std::string_view option);

// What the command line says of a problem: where an option set the key, the place is the option and
// its value, as "--gpu h100", and not the assignment "--set cluster.gpu=h100" that it stands for.
ConfigError in_words_of_options(const ConfigError& error, const CLI::App& program);

}  // namespace stepcast::cli
