// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_adapters.hpp"

#include <algorithm>
#include <array>

#include "stepcast/config/config_writer.hpp"

namespace stepcast {
namespace {

struct AdaptedProduct {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array kProducts = {
    AdaptedProduct{"linear_qkv", "qkv"}, AdaptedProduct{"linear_proj", "o"},
    AdaptedProduct{"linear_fc1", "gate_up"}, AdaptedProduct{"linear_fc2", "down"}};
constexpr std::string_view kTargets = "peft_target_modules";
constexpr std::int64_t kUsualRank = 32;

bool trains_adapters(std::string_view task) { return task == "peft" || task == "lora"; }

std::vector<std::string> usual_targets() {
  std::vector<std::string> targets;
  targets.reserve(kProducts.size());
  for (const AdaptedProduct& product : kProducts) {
    targets.emplace_back(product.theirs);
  }
  return targets;
}

std::vector<std::string> our_targets(const std::vector<std::string>& theirs,
                                     FrameworkReader& settings) {
  std::vector<std::string> ours;
  for (const std::string& target : theirs) {
    const auto* const known =
        std::find_if(kProducts.begin(), kProducts.end(),
                     [&](const AdaptedProduct& product) { return product.theirs == target; });
    if (known == kProducts.end()) {
      settings.error(kTargets,
                     "must be of linear_qkv, linear_proj, linear_fc1 and linear_fc2, not '" +
                         target.substr(0, 60) + "'");
    } else {
      ours.emplace_back(known->ours);
    }
  }
  return ours;
}

}  // namespace

std::optional<ConfigNode> read_bridge_adapters(FrameworkReader& settings, std::string_view task) {
  constexpr auto kWithoutEffect = std::to_array<std::string_view>(
      {"peft_alpha", "peft_dropout_position", "peft_scheme", "peft_lora_*", "peft_network_alpha"});
  settings.without_effect(kWithoutEffect);
  const std::optional<std::int64_t> rank = settings.count("peft_dim", "training.lora.rank");
  const auto targets = settings.texts(kTargets, "training.lora.targets");
  const double dropout = settings.number("peft_dropout", "training.lora.dropout").value_or(0.0);
  if (!trains_adapters(task)) {
    return std::nullopt;
  }
  if (!rank) {
    settings.remark({ImportOutcome::kDefaulted,
                     "peft_dim",
                     std::to_string(kUsualRank),
                     "training.lora.rank",
                     {},
                     {}});
  }
  ConfigWriter lora;
  lora.field("rank", rank.value_or(kUsualRank));
  lora.field("targets", list_node(our_targets(targets.value_or(usual_targets()), settings)));
  if (dropout > 0.0) {
    lora.field("dropout", true);
  }
  return lora.take();
}

}  // namespace stepcast
