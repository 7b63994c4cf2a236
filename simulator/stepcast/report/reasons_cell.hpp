// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

// Of a line of CSV: why a plan cannot run or is doubtful, or nothing.
inline std::string reasons_cell(const Projection& projection) {
  std::string reasons;
  for (const std::string& reason : projection.reasons) {
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return csv_cell(reasons);
}

}  // namespace stepcast
