// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/traced_device.hpp"

#include <algorithm>
#include <vector>

#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// "'NVIDIA H100', 95 GiB, 132 units"
std::string told_by(const DeviceIdentity& device) {
  std::string text = device.name.empty() ? "a device without a name" : "'" + device.name + "'";
  if (device.memory) {
    constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
    text += ", " + significant(device.memory->value() / kGi, 3) + " GiB";
  }
  if (device.compute_units) {
    text += ", " + std::to_string(*device.compute_units) + " units";
  }
  return text;
}

}  // namespace

ComparedDevice compared_device(const DeviceIdentity& traced, const DeviceSpec& asked,
                               ProfileCache& profiles) {
  if (traced.name.empty() && !traced.memory && !traced.compute_units) {
    return {DeviceMatch::kUnsaid, "does not say what it was taken on"};
  }
  std::vector<KnownPart> parts = profiles.known_parts();
  if (asked.is_own) {
    parts.push_back(known_part(asked));
  }
  const std::vector<std::string> meant = parts_of_device(traced, parts);
  const std::string taken = "was taken on " + told_by(traced);
  if (meant.empty()) {
    return {DeviceMatch::kOther, taken + ", which is no part that is known"};
  }
  if (holds(meant, asked.name)) {
    return meant.size() == 1 ? ComparedDevice{}
                             : ComparedDevice{DeviceMatch::kPerhaps,
                                              taken + ", which may be " + text_list(meant, " or ")};
  }
  const bool based = asked.is_own && std::ranges::any_of(asked.bases, [&](const auto& base) {
                       return holds(meant, base);
                     });
  return {based ? DeviceMatch::kPerhaps : DeviceMatch::kOther,
          taken + ", which is " + text_list(meant, " or ") + (based ? ", its base" : "")};
}

}  // namespace stepcast
