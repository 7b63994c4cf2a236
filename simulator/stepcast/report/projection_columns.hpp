// SPDX-License-Identifier: Apache-2.0
// Every number that reports have of a projection, once; each report picks those that it has.
#pragma once

#include <string_view>

#include "stepcast/report/columns.hpp"
#include "stepcast/result/projection.hpp"
#include "stepcast/result/sweep_summary.hpp"

namespace stepcast {

const Columns<Projection>& projection_columns();
// Of what a layer keeps.
const Columns<SavedTensor>& saved_columns();
// Of a search, with titles of a comparison.
const Columns<SearchedPlans>& searched_columns();

// Both intervals of the rate, as factors of the predicted tokens/s.
#define STEPCAST_INTERVAL_COLUMNS \
  "interval_80_low interval_80_high interval_90_low interval_90_high"
// Of a training run; the cells are empty without one.
inline constexpr std::string_view kRunColumns =
    "tokens steps days gpu_hours price currency days_80_low days_80_high energy_kwh "
    "joules_per_token goodput";

}  // namespace stepcast
