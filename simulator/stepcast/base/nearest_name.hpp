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

// The candidate nearest to `name`: the same but for capitals, one that goes on after it, one within
// a third of its length, or one of which it is a short form or the long one (proj, gbs, bfloat16).
// An empty text if there is none.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'x'?" or an empty text. A few that go on after `name` are all named: "a100" is
// either of two parts.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace stepcast
