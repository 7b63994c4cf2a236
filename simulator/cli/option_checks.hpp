// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line whatever the command, found after it is parsed.
#pragma once

#include "cli/read_files.hpp"

namespace CLI {
class App;
}

namespace stepcast::cli {

// The files that the command reads. Throws ConfigError where the value of an option is empty or
// holds a control character, as a variable of a shell that is not set leaves it, where a file that
// is read would be written, and where two outputs are one file.
ReadFiles check_options(const CLI::App& program);

}  // namespace stepcast::cli
