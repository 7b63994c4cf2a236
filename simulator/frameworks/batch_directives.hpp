// SPDX-License-Identifier: Apache-2.0
// The options of "#SBATCH" lines, which Slurm reads where a shell sees comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frameworks/shell_script.hpp"

namespace stepcast {

std::vector<ShellWord> batch_directives(std::string_view text, const std::string& file);

}  // namespace stepcast
