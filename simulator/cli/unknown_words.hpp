// SPDX-License-Identifier: Apache-2.0
// A word of a command line that names no command or no option, with the nearest one that there is:
//
//   command line: error: there is no command 'projet'; did you mean 'project'?
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stepcast::cli {

// The first such word of `arguments`, without the program's name, as a problem; nothing where the
// command line is wrong in another way.
std::optional<std::string> unknown_word(const CLI::App& program,
                                        const std::vector<std::string>& arguments);

}  // namespace stepcast::cli
