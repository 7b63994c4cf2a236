// SPDX-License-Identifier: Apache-2.0
// What a share of a rate may be.
#pragma once

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// A share or rate of nothing would make a kernel or a collective take for ever.
inline constexpr Range<double> kShare{0.01, 1.0};

}  // namespace stepcast
