// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/expected_error.hpp"

#include "stepcast/base/units_text.hpp"

namespace stepcast {

std::string_view accuracy_family(const ModelSpec& model) {
  if (model.attention.kind == AttentionKind::kMla) {
    return "mla";
  }
  return model.moe ? "moe" : "dense";
}

std::string expected_error_text(const ExpectedError& error) {
  const std::string where = error.gpu + ", " + error.family;
  if (error.runs == 0) {
    return "not known: no measured run of " + where + " was held out";
  }
  const std::string runs = error.runs == 1
                               ? "of 1 held-out run"
                               : "median of " + std::to_string(error.runs) + " held-out runs";
  return "+-" + significant(100.0 * error.median, 2) + " % (" + runs + " on " + where +
         "; 90 % of them within " + significant(100.0 * error.p90, 2) + " %)";
}

}  // namespace stepcast
