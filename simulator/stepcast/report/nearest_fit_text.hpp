// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stepcast/result/projection.hpp"

namespace stepcast {

// What makes a plan fit that does not, as options to add, in one line; nothing where none was
// looked for.
std::string nearest_fit_text(const Projection& p);

}  // namespace stepcast
