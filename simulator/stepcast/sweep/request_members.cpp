// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/request_members.hpp"

#include <algorithm>
#include <array>

#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

// Outermost first. A batch changes no operator, so it is innermost.
constexpr std::array kSiteSections = {"model", "cluster", "software", "expert_exchange",
                                      "backends"};
constexpr int kAfterSite = 1000;
constexpr int kAfterRecipe = 2000;
constexpr int kInnermost = 3000;

int training_order(std::string_view key) {
  // An axis inside a mapping is numbered as one over the mapping.
  const TrainingKey* known = training_key(key.substr(0, key.find('.')));
  if (known == nullptr) {
    return kInnermost - 1;
  }
  const bool last = known == &training_keys().back();
  return last ? kInnermost : kAfterSite + static_cast<int>(known - training_keys().data());
}

int plan_order(std::string_view key) {
  const PlanKey* known = plan_key(key);
  if (known == nullptr) {
    return kInnermost - 1;
  }
  return known->numbering == 0 ? kAfterSite - 1 : kAfterRecipe + known->numbering;
}

}  // namespace

int numbering_order(std::string_view dotted_key) {
  const std::size_t dot = dotted_key.find('.');
  const std::string_view section = dotted_key.substr(0, dot);
  const std::string_view key =
      dot == std::string_view::npos ? std::string_view() : dotted_key.substr(dot + 1);
  if (section == "training") {
    return training_order(key);
  }
  if (section == "plan") {
    return plan_order(key);
  }
  const auto* const found = std::find(kSiteSections.begin(), kSiteSections.end(), section);
  return static_cast<int>(found - kSiteSections.begin());
}

}  // namespace stepcast
