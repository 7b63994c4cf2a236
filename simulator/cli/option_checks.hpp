// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line whatever the command, found after it is parsed.
#pragma once

namespace CLI {
class App;
}

namespace stepcast::cli {

// Throws ConfigError where the value of an option is empty or holds a control character, as a
// variable of a shell that is not set leaves it, and where a file that is read would be written.
void check_options(const CLI::App& program);

}  // namespace stepcast::cli
