// SPDX-License-Identifier: Apache-2.0
// What a degree of parallelism, a count of layers or of heads may be in a table of measured runs.
#pragma once

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

inline constexpr Range<std::int64_t> kMeasuredDegree{1, 1 << 16};

}  // namespace stepcast
