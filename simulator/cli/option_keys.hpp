// SPDX-License-Identifier: Apache-2.0
// Which key of an experiment an option of the command line sets: --tp is plan.tp.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/stepcast.hpp"

namespace stepcast::cli {

// Of the options that every experiment has whatever its plan and recipe; a fault of the program if
// there is no such option.
std::string_view key_of(std::string_view option);

// The option that sets a key, "--tp" of "plan.tp"; empty where none does.
std::string option_of(std::string_view key);

// "plan.tp=8".
std::string assignment(std::string_view key, std::string_view value);

// What an option with its value sets; its place is the option as it was given, "--tp 8".
Assignment setting_by(const std::string& option, std::string_view key, const std::string& value);

}  // namespace stepcast::cli
