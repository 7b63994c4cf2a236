// SPDX-License-Identifier: Apache-2.0
#include "cli/option_keys.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "stepcast/plan/plan_keys.hpp"

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

// "plan.tp" as "--tp"; empty if no option sets the key.
std::string option_of(std::string_view key) {
  const auto* const known = std::find_if(kOptionKeys.begin(), kOptionKeys.end(),
                                         [&](const OptionKey& entry) { return entry.key == key; });
  if (known != kOptionKeys.end()) {
    return std::string(known->option);
  }
  const std::size_t dot = std::min(key.find('.'), key.size());
  const std::string_view section = key.substr(0, dot);
  const std::string_view name = key.substr(std::min(dot + 1, key.size()));
  if (const PlanKey* of_plan = section == "plan" ? plan_key(name) : nullptr) {
    return std::string(of_plan->option);
  }
  const TrainingKey* of_training = section == "training" ? training_key(name) : nullptr;
  return of_training == nullptr ? "" : std::string(of_training->option);
}

// What the command line gives an option that set `assigned`: that, or another form of it; empty if
// it gives nothing.
std::string value_of(const CLI::App& program, const std::string& option,
                     const std::string& assigned) {
  for (const CLI::App* command : program.get_subcommands()) {
    const CLI::Option* given = command->get_option_no_throw(option);
    if (given != nullptr && !given->results().empty()) {
      const std::vector<std::string>& values = given->results();
      const bool same = std::find(values.begin(), values.end(), assigned) != values.end();
      return same ? assigned : values.back();
    }
  }
  return "";
}

bool is_set(const CLI::App& program, const std::string& assignment) {
  const std::vector<CLI::App*> commands = program.get_subcommands();
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const CLI::Option* set = command->get_option_no_throw("--set");
    return set != nullptr && std::find(set->results().begin(), set->results().end(), assignment) !=
                                 set->results().end();
  });
}

}  // namespace

std::string_view key_of(std::string_view option) {
  const auto* const known =
      std::find_if(kOptionKeys.begin(), kOptionKeys.end(),
                   [&](const OptionKey& entry) { return entry.option == option; });
  STEPCAST_CHECK(known != kOptionKeys.end(), "an option has no key");
  return known->key;
}

ConfigError in_words_of_options(const ConfigError& error, const CLI::App& program) {
  constexpr std::string_view kSet = "--set ";
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& diagnostic : diagnostics) {
    const std::string& place = diagnostic.where.file;
    const std::size_t equals = place.find('=');
    if (!place.starts_with(kSet) || equals == std::string::npos ||
        is_set(program, place.substr(kSet.size()))) {
      continue;
    }
    const std::string option =
        option_of(std::string_view(place).substr(kSet.size(), equals - kSet.size()));
    const std::string value =
        option.empty() ? "" : value_of(program, option, place.substr(equals + 1));
    if (!value.empty()) {
      diagnostic.where = {option + " " + value.substr(0, place.size()), 0, 0};
    }
  }
  return ConfigError(std::move(diagnostics), error.uncollected());
}

}  // namespace stepcast::cli
