// SPDX-License-Identifier: Apache-2.0
#include "cli/option_keys.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/error.hpp"

namespace stepcast::cli {
namespace {

struct OptionKey {
  std::string_view option;
  std::string_view key;
};

constexpr std::array kOptionKeys = {
    OptionKey{"--model", "model"},
    OptionKey{"--gpu", "cluster.gpu"},
    OptionKey{"--cluster", "cluster.name"},
    OptionKey{"--nic-rate", "cluster.nic_rate"},
    OptionKey{"--nodes", "cluster.nodes"},
    OptionKey{"--gpu-clock-mhz", "cluster.gpu_clock"},
    OptionKey{"--power-limit", "cluster.power_limit"},
    OptionKey{"--memory-margin", "cluster.memory_margin"},
    OptionKey{"--software", "software"},
    OptionKey{"--tokens", "training.tokens"},
};

}  // namespace

std::string option_of(std::string_view key) {
  for (const OptionKey& known : kOptionKeys) {
    if (known.key == key) {
      return std::string(known.option);
    }
  }
  for (const KeyOption& known : Simulator::key_options()) {
    if (known.key == key) {
      return known.option;
    }
  }
  return {};
}

std::string_view key_of(std::string_view option) {
  const auto* const known =
      std::find_if(kOptionKeys.begin(), kOptionKeys.end(),
                   [&](const OptionKey& entry) { return entry.option == option; });
  STEPCAST_CHECK(known != kOptionKeys.end(), "an option has no key");
  return known->key;
}

std::string assignment(std::string_view key, std::string_view value) {
  return std::string(key) + "=" + std::string(value);
}

Assignment setting_by(const std::string& option, std::string_view key, const std::string& value) {
  return {assignment(key, value), option + " " + value};
}

}  // namespace stepcast::cli
