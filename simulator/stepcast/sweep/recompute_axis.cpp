// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "stepcast/base/each_of.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/sweep/sweep_axes.hpp"

namespace stepcast {
namespace {

// A key of the recipe by its name in a sweep, "training.recompute"; null if it is none.
const TrainingKey* recipe_key(std::string_view key) {
  constexpr std::string_view kSection = "training.";
  return key.starts_with(kSection) ? training_key(key.substr(kSection.size())) : nullptr;
}

bool chooses_kind(const TrainingKey* key) {
  return key != nullptr && key == training_key(kRecomputeKey);
}

bool is_of_recomputation(std::string_view key) {
  const TrainingKey* known = recipe_key(key);
  return chooses_kind(known) || (known != nullptr && known->of_recompute);
}

// The kind of recomputation to which a key belongs; empty: to every one.
std::string_view kind_of_key(std::string_view key) {
  const TrainingKey* known = recipe_key(key);
  return known != nullptr && known->of_recompute ? name(*known->of_recompute) : std::string_view();
}

std::string kind_of_value(const AxisValue& value) {
  for (const AxisSetting& setting : value) {
    if (chooses_kind(recipe_key(setting.key))) {
      return setting.value.text;
    }
  }
  return std::string(name(RecomputeKind::kNone));
}

// The keys of recomputation that do not vary, as an axis of one value.
void take_fixed(ConfigNode& base, WrittenAxis& joint) {
  for (ConfigEntry& section : base.entries) {
    if (section.key != "training" || section.value.kind != ConfigNode::Kind::kMapping) {
      continue;
    }
    std::vector<ConfigEntry> stay;
    for (ConfigEntry& entry : section.value.entries) {
      const std::string key = "training." + entry.key;
      if (!is_of_recomputation(key) || entry.value.kind == ConfigNode::Kind::kNull) {
        stay.push_back(std::move(entry));
        continue;
      }
      joint.keys.push_back(key);
      joint.values.front().push_back({key, std::move(entry.value), entry.line, entry.column});
    }
    section.value.entries = std::move(stay);
  }
}

// Every value of `a` with every one of `b`; what `b` sets wins.
WrittenAxis crossed_axes(const WrittenAxis& a, const WrittenAxis& b) {
  WrittenAxis result;
  result.place = b.place;
  result.keys = a.keys;
  for (const std::string& key : b.keys) {
    if (std::ranges::find(result.keys, key) == result.keys.end()) {
      result.keys.push_back(key);
    }
  }
  for (const AxisValue& left : a.values) {
    for (const AxisValue& right : b.values) {
      AxisValue both = right;
      for (const AxisSetting& setting : left) {
        const bool set = std::ranges::any_of(
            right, [&setting](const AxisSetting& other) { return other.key == setting.key; });
        if (!set) {
          both.push_back(setting);
        }
      }
      result.values.push_back(std::move(both));
    }
  }
  return result;
}

// Drops settings that belong to another kind which the axis has as well, and then repetitions.
void drop_what_does_not_belong(WrittenAxis& joint) {
  const std::vector<std::string> kinds = each_of(joint.values, kind_of_value);
  const std::set<std::string, std::less<>> all_kinds(kinds.begin(), kinds.end());
  std::set<std::string> known;
  std::vector<AxisValue> values;
  for (std::size_t i = 0; i < joint.values.size(); ++i) {
    AxisValue& value = joint.values[i];
    std::erase_if(value, [&](const AxisSetting& setting) {
      const std::string_view owner = kind_of_key(setting.key);
      return !owner.empty() && owner != kinds[i] && all_kinds.contains(owner);
    });
    std::ranges::sort(value, {}, &AxisSetting::key);
    std::string text;
    for (const AxisSetting& setting : value) {
      text += setting.key + "=" + flow_text(setting.value) + ";";
    }
    if (known.insert(std::move(text)).second) {
      values.push_back(std::move(value));
    }
  }
  joint.values = std::move(values);
}

}  // namespace

void join_recomputation(WrittenSweep& sweep) {
  const auto first = std::stable_partition(
      sweep.axes.begin(), sweep.axes.end(),
      [](const WrittenAxis& axis) { return !is_of_recomputation(axis.keys.front()); });
  if (first == sweep.axes.end()) {
    return;
  }
  WrittenAxis joint;
  joint.values.emplace_back();
  take_fixed(sweep.base, joint);
  // In the order of the keys, whatever that of the file.
  std::sort(first, sweep.axes.end(), [](const WrittenAxis& a, const WrittenAxis& b) {
    return a.keys.front() < b.keys.front();
  });
  for (auto axis = first; axis != sweep.axes.end(); ++axis) {
    if (joint.values.size() * axis->values.size() > kLongestAxis) {
      return;  // too many to join: each is read, and refused, by itself
    }
    joint = crossed_axes(joint, *axis);
  }
  sweep.axes.erase(first, sweep.axes.end());
  drop_what_does_not_belong(joint);
  std::ranges::sort(joint.keys, [](const std::string& a, const std::string& b) {
    return numbering_order(a) < numbering_order(b);
  });
  sweep.axes.push_back(std::move(joint));
}

}  // namespace stepcast
