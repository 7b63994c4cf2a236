// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_axes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

bool is_whole_number(const ConfigNode& node) {
  const char* const end = node.text.data() + node.text.size();
  std::int64_t value = 0;
  return node.kind == ConfigNode::Kind::kScalar && !node.quoted &&
         std::from_chars(node.text.data(), end, value).ptr == end && !node.text.empty();
}

bool is_scalar(const ConfigNode& node) { return node.kind == ConfigNode::Kind::kScalar; }

// Whether `list` is one value of `key`, which takes lists, rather than an axis over it.
bool is_one_value(std::string_view key, const ConfigNode& list, const ConfigNode& mapping) {
  const OneList one = one_list_of(
      key, [&mapping](std::string_view other) { return mapping.find(other) != nullptr; });
  return one != OneList::kNone &&
         std::all_of(list.items.begin(), list.items.end(),
                     one == OneList::kOfScalars ? is_scalar : is_whole_number);
}

std::string joined(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

class AxisTaker {
 public:
  explicit AxisTaker(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // Moves what varies in `mapping` to axes().
  void take(ConfigNode& mapping, const std::string& path) {
    std::vector<ConfigEntry> stay;
    const ConfigNode whole = mapping;
    for (ConfigEntry& entry : mapping.entries) {
      ConfigNode& value = entry.value;
      const bool list =
          value.kind == ConfigNode::Kind::kSequence && !is_one_value(entry.key, value, whole);
      if (list || is_range(value)) {
        add_axis(path, entry);
        continue;
      }
      if (value.kind == ConfigNode::Kind::kMapping) {
        take(value, joined(path, entry.key));
      }
      stay.push_back(std::move(entry));
    }
    mapping.entries = std::move(stay);
  }

  std::vector<WrittenAxis> axes() { return std::move(axes_); }

 private:
  void error(const ConfigNode& node, std::string message) {
    diagnostics_.error(node.location(), std::move(message));
  }

  void add_axis(const std::string& path, const ConfigEntry& entry) {
    const std::string own = joined(path, entry.key);
    WrittenAxis axis;
    axis.keys = {own};
    texts_.clear();
    axis.place = entry.value;
    axis.place.items.clear();
    axis.place.entries.clear();
    for (const ConfigNode& item : alternatives(own, entry.value)) {
      for (AxisValue& value : values_of(path, entry, item)) {
        keep(axis, std::move(value), item);
      }
    }
    if (axis.values.size() > kLongestAxis) {
      error(entry.value, "'" + own + "' has more than " + std::to_string(kLongestAxis) +
                             " values; give fewer, or a range with a larger step");
      axis.values.resize(1);
    }
    refuse_keys_of_others(axis);
    if (!axis.values.empty()) {
      axes_.push_back(std::move(axis));
    }
  }

  // The items of a list, with ranges in it written out, or the values of a range.
  std::vector<ConfigNode> alternatives(const std::string& key, const ConfigNode& value) {
    if (is_range(value)) {
      return range_values(key, value, diagnostics_);
    }
    std::vector<ConfigNode> items;
    for (const ConfigNode& item : value.items) {
      if (is_range(item)) {
        const std::vector<ConfigNode> more = range_values(key, item, diagnostics_);
        items.insert(items.end(), more.begin(), more.end());
      } else if (item.kind == ConfigNode::Kind::kNull) {
        error(item, "'" + key + "' has an empty value; give one, or leave it out");
      } else {
        items.push_back(item);
      }
    }
    if (value.items.empty()) {
      error(value, "'" + key + "' is an empty list; give at least one value");
    }
    return items;
  }

  // What an item sets: its key, or with a mapping that names its key several of the same section.
  std::vector<AxisValue> values_of(const std::string& path, const ConfigEntry& axis,
                                   const ConfigNode& item) {
    const std::string& key = axis.key;
    const std::string own = joined(path, key);
    std::vector<AxisValue> values;
    if (item.kind != ConfigNode::Kind::kMapping) {
      return {{{own, item, axis.line, axis.column}}};
    }
    const bool together = item.find(key) != nullptr;
    for (const ConfigNode& one : combinations(own, item, 0)) {
      if (!together) {
        values.push_back({{own, one, axis.line, axis.column}});
        continue;
      }
      AxisValue value;
      for (const ConfigEntry& entry : one.entries) {
        value.push_back({joined(path, entry.key), entry.value, entry.line, entry.column});
      }
      values.push_back(std::move(value));
    }
    return values;
  }

  // Every mapping that `mapping` means where its own values are lists or ranges.
  std::vector<ConfigNode> combinations(const std::string& path, const ConfigNode& mapping,
                                       int depth) {
    constexpr int kDeepest = 8;
    ConfigNode empty = mapping;
    empty.entries.clear();
    std::vector<ConfigNode> made = {std::move(empty)};
    for (const ConfigEntry& entry : mapping.entries) {
      std::vector<ConfigNode> choices = {entry.value};
      const bool list = entry.value.kind == ConfigNode::Kind::kSequence &&
                        !is_one_value(entry.key, entry.value, mapping);
      if (list || is_range(entry.value)) {
        choices = alternatives(joined(path, entry.key), entry.value);
      } else if (entry.value.kind == ConfigNode::Kind::kMapping && depth < kDeepest) {
        choices = combinations(joined(path, entry.key), entry.value, depth + 1);
      }
      if (choices.empty() || made.size() > kLongestAxis / choices.size()) {
        if (!choices.empty()) {
          error(mapping, "'" + path + "' makes more than " + std::to_string(kLongestAxis) +
                             " values of this");
        }
        return {};
      }
      made = crossed(made, entry, choices);
    }
    return made;
  }

  static std::vector<ConfigNode> crossed(const std::vector<ConfigNode>& made,
                                         const ConfigEntry& entry,
                                         const std::vector<ConfigNode>& choices) {
    std::vector<ConfigNode> result;
    result.reserve(made.size() * choices.size());
    for (const ConfigNode& so_far : made) {
      for (const ConfigNode& choice : choices) {
        result.push_back(so_far);
        result.back().entries.push_back({entry.key, entry.line, entry.column, choice});
      }
    }
    return result;
  }

  void keep(WrittenAxis& axis, AxisValue value, const ConfigNode& item) {
    std::string text;
    for (const AxisSetting& setting : value) {
      text += setting.key + "=" + flow_text(setting.value) + ";";
      if (std::find(axis.keys.begin(), axis.keys.end(), setting.key) == axis.keys.end()) {
        axis.keys.push_back(setting.key);
      }
    }
    if (texts_.size() > kLongestAxis) {
      return;
    }
    if (!texts_.insert(std::move(text)).second) {
      error(item, "'" + axis.keys.front() + "' has the value " + flow_text(item) +
                      " twice; leave one out");
      return;
    }
    axis.values.push_back(std::move(value));
  }

  void refuse_keys_of_others(const WrittenAxis& axis) {
    for (const WrittenAxis& other : axes_) {
      for (const std::string& key : axis.keys) {
        if (std::find(other.keys.begin(), other.keys.end(), key) != other.keys.end()) {
          error(axis.place, "'" + key + "' is set by the values of '" + other.keys.front() +
                                "' and of '" + axis.keys.front() + "'; vary it in one place");
        }
      }
    }
  }

  Diagnostics& diagnostics_;
  std::vector<WrittenAxis> axes_;
  std::set<std::string> texts_;  // of the values of the axis that is being read
};

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
  return known->of_site ? kAfterSite - 1 : kAfterRecipe + known->numbering;
}

}  // namespace

WrittenSweep take_axes(ConfigNode root, Diagnostics& diagnostics) {
  AxisTaker taker(diagnostics);
  taker.take(root, "");
  return {std::move(root), taker.axes()};
}

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

void sort_axes(std::vector<WrittenAxis>& axes) {
  const auto order = [](const WrittenAxis& axis) {
    int least = numbering_order(axis.keys.front());
    for (const std::string& key : axis.keys) {
      least = std::min(least, numbering_order(key));
    }
    return least;
  };
  std::sort(axes.begin(), axes.end(), [&order](const WrittenAxis& a, const WrittenAxis& b) {
    return std::pair(order(a), a.keys) < std::pair(order(b), b.keys);
  });
}

void set_values(ConfigNode& root, const AxisValue& value) {
  for (const AxisSetting& setting : value) {
    ConfigNode* mapping = &root;
    std::string_view rest = setting.key;
    for (std::size_t dot = rest.find('.');; dot = rest.find('.')) {
      const std::string_view key = rest.substr(0, dot);
      auto entry = std::find_if(mapping->entries.begin(), mapping->entries.end(),
                                [key](const ConfigEntry& e) { return e.key == key; });
      if (entry == mapping->entries.end()) {
        ConfigNode inner = scalar_at(setting.value, "");
        inner.kind = ConfigNode::Kind::kMapping;
        mapping->entries.push_back(
            {std::string(key), setting.line, setting.column, std::move(inner)});
        entry = std::prev(mapping->entries.end());
      }
      if (dot == std::string_view::npos) {
        entry->value = setting.value;
        break;
      }
      mapping = &entry->value;
      rest.remove_prefix(dot + 1);
    }
  }
}

std::string flow_text(const ConfigNode& node) {
  if (node.kind == ConfigNode::Kind::kScalar || node.kind == ConfigNode::Kind::kNull) {
    return node.text;
  }
  const bool list = node.kind == ConfigNode::Kind::kSequence;
  std::string text;
  for (const ConfigNode& item : node.items) {
    text += (text.empty() ? "" : ", ") + flow_text(item);
  }
  for (const ConfigEntry& entry : node.entries) {
    text += (text.empty() ? "" : ", ") + entry.key + ": " + flow_text(entry.value);
  }
  return (list ? "[" : "{") + text + (list ? "]" : "}");
}

ConfigNode scalar_at(const ConfigNode& place, std::string text) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kScalar;
  node.text = std::move(text);
  node.file = place.file;
  node.line = place.line;
  node.column = place.column;
  return node;
}

}  // namespace stepcast
