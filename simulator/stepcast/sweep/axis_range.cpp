// SPDX-License-Identifier: Apache-2.0
// Ranges of numbers as the values of an axis.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/sweep/sweep_axes.hpp"

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

}  // namespace

bool is_range(const ConfigNode& node) {
  const auto has = [&node](std::string_view key) { return node.find(key) != nullptr; };
  return node.kind == ConfigNode::Kind::kMapping &&
         (has("from") || (has("to") && (has("times") || has("step"))));
}

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

}  // namespace stepcast
