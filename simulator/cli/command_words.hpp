// SPDX-License-Identifier: Apache-2.0
// What --help says of every command besides its own words: what an option takes, and an example
// that runs in the root of the source tree.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

namespace stepcast::cli {

// Puts the words on all commands and options; to be called when all of them are there.
void add_words(CLI::App& program);

// All commands inside one, whether they were given or not.
std::vector<const CLI::App*> inner_commands(const CLI::App& command);

// A check whose rule --help leaves out: there stands the word of what the option takes. Messages
// say the rule.
CLI::Validator unsaid(const CLI::Validator& check);

}  // namespace stepcast::cli
