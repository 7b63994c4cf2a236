// SPDX-License-Identifier: Apache-2.0
// What the text and the tables of a comparison share.
#pragma once

#include <algorithm>
#include <array>

#include "stepcast/report/comparison_report.hpp"

namespace stepcast {

// The first column with a time, to which the others are related; nullptr if there is none.
inline const ComparedColumn* reference_of(const std::vector<ComparedColumn>& columns) {
  const auto first = std::find_if(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.projection.priced;
  });
  return first == columns.end() ? nullptr : &*first;
}

inline double ratio(const Projection& p, const Projection& reference) {
  return p.tokens_per_second_per_gpu / reference.tokens_per_second_per_gpu;
}

struct TimeRow {
  const char* title;
  const char* key;  // as `project` calls it; nullptr: a part of the row above
  Seconds (*of)(const TimeBreakdown&);
};

// Of one axis.
template <Axis kAxis>
Seconds exposed(const TimeBreakdown& time) {
  return time.exposed[slot(kAxis)];
}

inline constexpr std::array kTimeRows = {
    TimeRow{"computation", "compute_s",
            [](const TimeBreakdown& time) { return time.compute + time.contention; }},
    TimeRow{"  slowed by communication", nullptr,
            [](const TimeBreakdown& time) { return time.contention; }},
    TimeRow{"tp communication, exposed", "tp_communication_s", exposed<Axis::kTensor>},
    TimeRow{"ep communication, exposed", "ep_communication_s", exposed<Axis::kExpert>},
    TimeRow{"cp communication, exposed", "cp_communication_s", exposed<Axis::kContext>},
    TimeRow{"dp communication, exposed", "dp_communication_s", exposed<Axis::kData>},
    TimeRow{"pp communication, exposed", "pp_communication_s", exposed<Axis::kPipeline>},
    TimeRow{"pipeline bubble", "pipeline_bubble_s",
            [](const TimeBreakdown& time) { return time.bubble; }},
    TimeRow{"optimizer", "optimizer_s", [](const TimeBreakdown& time) { return time.optimizer; }},
    TimeRow{"host", "host_s", [](const TimeBreakdown& time) { return time.host; }},
};

}  // namespace stepcast
