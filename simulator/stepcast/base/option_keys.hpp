// SPDX-License-Identifier: Apache-2.0
// What options of the program set that every experiment has, whatever its plan and recipe, and what
// an option's value is to the key that it sets. Those of keys of a plan and a recipe stand with the
// keys (plan/plan_keys.hpp).
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace stepcast {

struct OptionKey {
  std::string_view option;
  std::string_view key;
};

inline constexpr std::array kOptionKeys = {
    OptionKey{"--model", "model"},
    OptionKey{"--gpu", "cluster.gpu"},
    OptionKey{"--cluster", "cluster.name"},
    OptionKey{"--nic-rate", "cluster.nic_rate"},
    OptionKey{"--nodes", "cluster.nodes"},
    OptionKey{"--gpus", "cluster.gpus"},
    OptionKey{"--gpu-clock-mhz", "cluster.gpu_clock"},
    OptionKey{"--power-limit", "cluster.power_limit"},
    OptionKey{"--sure", "cluster.memory_sure"},
    OptionKey{"--software", "software"},
    OptionKey{"--tokens", "training.tokens"},
};

// "8k" of a sequence as "8192", as sequences are called, "99%" and "99 %" of odds as "0.99"; any
// other text as it is, which its reader judges.
std::string option_value(std::string_view key, const std::string& given);

}  // namespace stepcast
