// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/exchange_assumptions.hpp"

#include <algorithm>
#include <vector>

namespace stepcast {
namespace {

struct Reason {
  std::string text;
  std::int64_t constants = 0;
};

// Counts a reason; those met first stay in front.
void count(const std::string& text, std::vector<Reason>& reasons) {
  const auto known = std::find_if(reasons.begin(), reasons.end(),
                                  [&text](const Reason& reason) { return reason.text == text; });
  if (known == reasons.end()) {
    reasons.push_back({text, 1});
  } else {
    ++known->constants;
  }
}

}  // namespace

std::string assumed_exchange(const DeviceSpec& device, Dispatcher dispatcher) {
  const std::string section = std::string(name(dispatcher)) + ".";
  std::int64_t all = 0;
  std::int64_t assumed = 0;
  std::vector<Reason> reasons;
  for (const Provenance& entry : device.provenance) {
    if (entry.key.starts_with(section)) {
      ++all;
      if (entry.kind == SourceKind::kAssumed) {
        ++assumed;
        count(entry.source, reasons);
      }
    }
  }
  if (assumed == 0) {
    return "";
  }
  const auto usual =
      std::max_element(reasons.begin(), reasons.end(),
                       [](const Reason& a, const Reason& b) { return a.constants < b.constants; });
  return "exchange constants of " + std::string(name(dispatcher)) + " on " + device.name +
         " assumed, " + std::to_string(assumed) + " of " + std::to_string(all) + ": " +
         usual->text + (reasons.size() > 1 ? "; ..." : "");
}

}  // namespace stepcast
