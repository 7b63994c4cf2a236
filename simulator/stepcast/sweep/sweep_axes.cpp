// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_axes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "stepcast/base/text_list.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

// Numbers of a range; whole ones below this are exact.
constexpr Range<double> kNumbers{-1e15, 1e15};

// Without the noise of adding up decimals: 0.1 three times is 0.3.
std::string range_text(double value) {
  std::array<char, 40> text{};
  const std::to_chars_result written =
      std::to_chars(text.data(), text.data() + text.size(), std::round(value * 1e9) / 1e9,
                    std::chars_format::general, 15);
  return {text.data(), written.ptr};
}

struct RangeNumbers {
  double from = 0.0;
  double to = 0.0;
  bool multiplies = false;
  double step = 1.0;
};

std::string fault_of(const RangeNumbers& range) {
  if (range.to < range.from) {
    return "has no values: 'to' is below 'from'";
  }
  if (range.from < 0.0) {
    return "begins below 0, which no key takes; give 'from' 0 or more";
  }
  if (range.multiplies && !(range.step > 1.0 && range.from > 0.0)) {
    return "never ends: 'times' must be above 1, and 'from' above 0";
  }
  if (!range.multiplies && !(range.step > 0.0)) {
    return "never ends: 'step' must be above 0";
  }
  return "";
}

// Whether a value is a range of numbers: {from: 1, to: 64, times: 2}, {from: 1, to: 8, step: 1}.
bool is_range(const ConfigNode& node) {
  const auto has = [&node](std::string_view key) { return node.find(key) != nullptr; };
  return node.kind == ConfigNode::Kind::kMapping &&
         (has("from") || (has("to") && (has("times") || has("step"))));
}

// Its numbers, as scalars. Problems go to `diagnostics`.
std::vector<ConfigNode> range_values(const std::string& key, const ConfigNode& range,
                                     Diagnostics& diagnostics) {
  Diagnostics found;
  MappingReader reader(range, key, found);
  RangeNumbers numbers;
  numbers.from = reader.required_number("from", kNumbers);
  numbers.to = reader.required_number("to", kNumbers);
  numbers.multiplies = reader.has("times");
  numbers.step = reader.optional_number("step", 1.0, kNumbers);
  if (numbers.multiplies) {
    if (reader.has("step")) {
      reader.error("step", "and 'times' exclude each other; leave one out");
    }
    numbers.step = reader.optional_number("times", 2.0, kNumbers);
  }
  reader.finish();
  const std::string fault = found.empty() ? fault_of(numbers) : "";
  for (const Diagnostic& problem : found.entries()) {
    diagnostics.error(problem.where, problem.message);
  }
  std::vector<ConfigNode> values;
  if (!found.empty()) {
    return values;
  }
  if (!fault.empty()) {
    // One value stands for them, so that the key does not seem to be missing as well.
    diagnostics.error(range.location(), "the range of '" + key + "' " + fault);
    return {scalar_at(range, range_text(std::max(numbers.from, numbers.to)))};
  }
  // A little beyond the end, for decimals that do not add up exactly.
  const double end = numbers.to + 1e-9 * std::abs(numbers.to);
  double value = numbers.from;
  for (std::size_t i = 1; value <= end && values.size() <= kLongestAxis; ++i) {
    values.push_back(scalar_at(range, range_text(value)));
    value = numbers.multiplies ? value * numbers.step
                               : numbers.from + static_cast<double>(i) * numbers.step;
  }
  return values;
}

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
         std::ranges::all_of(list.items, one == OneList::kOfScalars ? is_scalar : is_whole_number);
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
      if (std::ranges::find(axis.keys, setting.key) == axis.keys.end()) {
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
        if (std::ranges::find(other.keys, key) != other.keys.end()) {
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
  const auto* const found = std::ranges::find(kSiteSections, section);
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
  std::ranges::sort(axes, [&order](const WrittenAxis& a, const WrittenAxis& b) {
    return std::pair(order(a), a.keys) < std::pair(order(b), b.keys);
  });
}

void set_values(ConfigNode& root, const AxisValue& value) {
  for (const AxisSetting& setting : value) {
    ConfigNode* mapping = &root;
    std::string_view rest = setting.key;
    for (std::size_t dot = rest.find('.');; dot = rest.find('.')) {
      const std::string_view key = rest.substr(0, dot);
      ConfigEntry* entry = mapping->entry(key);
      if (entry == nullptr) {
        entry = &mapping->entries.emplace_back(
            ConfigEntry{std::string(key), setting.line, setting.column,
                        empty_at(setting.value, ConfigNode::Kind::kMapping)});
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
  return list ? "[" + text_list(node.items, ", ", flow_text) + "]"
              : "{" + text_list(node.entries, ", ", [](const ConfigEntry& entry) {
                  return entry.key + ": " + flow_text(entry.value);
                }) + "}";
}

}  // namespace stepcast
