// SPDX-License-Identifier: Apache-2.0
// The nearest known name to a mistyped one, for "did you mean" remedies.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stepcast {

// Number of single-character insertions, deletions, substitutions and swaps of neighbours that turn
// `a` into `b` (optimal string alignment distance), ignoring case.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or an empty text if none is within a third of its length.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'x'?" or an empty text.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace stepcast
