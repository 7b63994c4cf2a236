// SPDX-License-Identifier: Apache-2.0
// What commands print whose output follows from their arguments and input alone: echo, printf,
// dirname, basename, seq, expr, tr, cut, wc.
#pragma once

#include <optional>
#include <string>

#include "frameworks/shell_expansion.hpp"
#include "frameworks/shell_text.hpp"

namespace stepcast {

// Nothing where the command is none of these, or is asked for what is not followed. `words` are its
// name and arguments; `input` what it reads, where that is known to be anything.
std::optional<ShellText> shell_output(const ShellFields& words,
                                      const std::optional<ShellText>& input,
                                      ShellExpansion& expansion, int line);

}  // namespace stepcast
