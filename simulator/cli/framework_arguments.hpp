// SPDX-License-Identifier: Apache-2.0
// A command line of `stepcast import FRAMEWORK` with the framework's own options among ours:
// `--section.key=value` and `--section.key value` become `section.key=value`.
#pragma once

#include <string>
#include <vector>

namespace stepcast::cli {

// `arguments` without the program's name. No option of ours has a dot in its name; a command line
// of another command stays as it is.
std::vector<std::string> with_framework_arguments(std::vector<std::string> arguments);

}  // namespace stepcast::cli
