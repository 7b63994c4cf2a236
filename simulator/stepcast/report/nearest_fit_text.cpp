// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/nearest_fit_text.hpp"

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {

std::string nearest_fit_text(const Projection& p) {
  if (!p.nearest_fit) {
    return "";
  }
  if (p.nearest_fit->changes.empty()) {
    return "  No plan that changes one or two settings fits; stepcast compare --best-plan tries "
           "all.\n";
  }
  std::string changes;
  for (const auto& [key, value] : p.nearest_fit->changes) {
    changes += " --set " + key + "=" + value;
  }
  return "  It fits with" + changes + ": " + decimals(p.nearest_fit->tokens_per_second_per_gpu, 1) +
         " tokens/s/GPU, " + readable(p.nearest_fit->peak_memory) + " at peak.\n";
}

}  // namespace stepcast
