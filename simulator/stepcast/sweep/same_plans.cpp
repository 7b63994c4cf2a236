// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/same_plans.hpp"

#include <algorithm>

#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/sweep/sweep_axes.hpp"

namespace stepcast {
namespace {

// The only key of an axis that a value sets, and its text; no key if it sets several.
std::pair<const PlanKey*, std::string> only_setting(const SweepAxis& axis, std::size_t value) {
  constexpr std::string_view kSection = "plan.";
  const std::vector<std::string>& texts = axis.values[value];
  std::pair<const PlanKey*, std::string> only{nullptr, ""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) {
      continue;
    }
    if (!only.second.empty() || !axis.keys[i].starts_with(kSection)) {
      return {nullptr, ""};
    }
    only = {plan_key(std::string_view(axis.keys[i]).substr(kSection.size())), texts[i]};
  }
  return only;
}

// What a plan asks for that has nothing but this text for the key.
PlanRequest request_with(const PlanKey& key, const std::string& text) {
  ConfigNode mapping = empty_at({}, ConfigNode::Kind::kMapping);
  mapping.entries.push_back({std::string(key.name), 0, 0, scalar_at(mapping, text)});
  Diagnostics none;  // the sweep was read before
  MappingReader reader(mapping, "", none);
  PlanRequest request;
  key.read(key.name, reader, request);
  return request;
}

// Some dispatchers run kernels where one rank has all experts, too.
bool always_runs(const PlanRequest& asked) {
  return asked.dispatcher && model_of(*asked.dispatcher).serves_one_rank;
}

}  // namespace

SamePlans::SamePlans(const SweepSpace& space) : space_(&space) {
  for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
    const std::size_t first = alike_.size();
    const SweepAxis& swept = space.axes()[axis];
    for (std::size_t digit = 0; digit < swept.values.size(); ++digit) {
      const auto [key, text] = only_setting(swept, digit);
      if (key == nullptr || key->idle == nullptr) {
        continue;
      }
      const PlanRequest asked = request_with(*key, text);
      if (always_runs(asked)) {
        continue;
      }
      const auto has_key = [key = key](const Alike& alike) { return alike.key == key; };
      auto alike =
          std::find_if(alike_.begin() + static_cast<std::ptrdiff_t>(first), alike_.end(), has_key);
      if (alike == alike_.end()) {
        alike = alike_.insert(alike, {axis, key, {}});
      }
      alike->values.push_back({digit, asked});
    }
  }
}

bool SamePlans::repeats(std::int64_t index, const ParallelPlan& plan) const {
  return std::ranges::any_of(alike_, [&](const Alike& alike) {
    const std::size_t digit = space_->digit(index, alike.axis);
    const auto is_idle = [&](const Value& value) { return alike.key->idle(value.asked, plan); };
    const auto first = std::ranges::find_if(alike.values, is_idle);
    return first != alike.values.end() && first->digit < digit &&
           std::any_of(first + 1, alike.values.end(),
                       [&](const Value& value) { return value.digit == digit && is_idle(value); });
  });
}

}  // namespace stepcast
