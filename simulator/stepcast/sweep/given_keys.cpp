// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_defaults.hpp"

#include <charconv>

namespace stepcast {

GivenTexts given_texts(const WrittenSweep& sweep) {
  GivenTexts given;
  for (const ConfigEntry& section : sweep.base.entries) {
    for (const ConfigEntry& entry : section.value.entries) {
      given[section.key + "." + entry.key].push_back(entry.value.text);
    }
  }
  for (const WrittenAxis& axis : sweep.axes) {
    for (const AxisValue& value : axis.values) {
      for (const AxisSetting& setting : value) {
        given[setting.key].push_back(setting.value.text);
      }
    }
  }
  return given;
}

Degrees given_degrees(const GivenTexts& given, std::string_view key) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 30;
  Degrees degrees;
  const auto found = given.find(key);
  if (found == given.end()) {
    return degrees;
  }
  for (const std::string& text : found->second) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ptr == end && value > 0 && value <= kLargest) {
      degrees.insert(value);
    }
  }
  return degrees;
}

Degrees divisors(std::int64_t value) {
  Degrees found;
  for (std::int64_t i = 1; i * i <= value; ++i) {
    if (value % i == 0) {
      found.insert(i);
      found.insert(value / i);
    }
  }
  return found;
}

}  // namespace stepcast
