// SPDX-License-Identifier: Apache-2.0
// What the tables of a trace's report have in common.
#pragma once

#include <string>

#include "stepcast/base/units.hpp"
#include "traces/rank_waiting.hpp"

namespace stepcast {

inline constexpr std::size_t kTopRows = 10;

std::string counted(double value);
std::string in_milliseconds(Seconds time);
// The first `width` characters, "..." where there are more.
std::string cut_to(const std::string& text, std::size_t width);
std::string title_line(std::string_view title);

// What several ranks show together: each rank, who waits for whom, where.
std::string rank_tables(const RankWaiting& waiting);

}  // namespace stepcast
