// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_adapters.hpp"

#include <array>

#include "frameworks/words.hpp"
#include "stepcast/config/config_writer.hpp"

namespace stepcast {
namespace {

struct AdaptedProduct {
  std::string_view theirs;
  LoraTarget ours;
};
constexpr std::array kProducts = {AdaptedProduct{"linear_qkv", LoraTarget::kQkv},
                                  AdaptedProduct{"linear_proj", LoraTarget::kO},
                                  AdaptedProduct{"linear_fc1", LoraTarget::kGateUp},
                                  AdaptedProduct{"linear_fc2", LoraTarget::kDown}};

// What a framework calls the keys of training.lora.
struct AdapterKeys {
  std::string_view rank;
  std::string_view targets;
  std::string_view dropout;
};
constexpr AdapterKeys kBridgeKeys = {"peft_dim", "peft_target_modules", "peft_dropout"};
constexpr AdapterKeys kPrimusKeys = {"lora.dim", "lora.target_modules", "lora.dropout"};
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

std::vector<std::string> our_targets(const std::vector<std::string>& theirs, std::string_view key,
                                     FrameworkReader& settings) {
  std::vector<std::string> ours;
  for (const std::string& target : theirs) {
    const AdaptedProduct* const known = row_with(kProducts, &AdaptedProduct::theirs, target);
    if (known == nullptr) {
      settings.error(key, "must be of linear_qkv, linear_proj, linear_fc1 and linear_fc2, not '" +
                              target.substr(0, 60) + "'");
    } else {
      ours.emplace_back(name(known->ours));
    }
  }
  return ours;
}

// Nothing where the file trains all weights, which may have the keys all the same.
std::optional<ConfigNode> read_adapters(FrameworkReader& settings, const AdapterKeys& keys,
                                        bool trained) {
  const std::optional<std::int64_t> rank = settings.count(keys.rank, "training.lora.rank");
  const auto targets = settings.texts(keys.targets, "training.lora.targets");
  const double dropout = settings.share(keys.dropout, "training.lora.dropout").value_or(0.0);
  if (!trained) {
    return std::nullopt;
  }
  if (!rank) {
    settings.remark({ImportOutcome::kDefaulted,
                     std::string(keys.rank),
                     std::to_string(kUsualRank),
                     "training.lora.rank",
                     {},
                     {}});
  }
  ConfigWriter lora;
  lora.field("rank", rank.value_or(kUsualRank));
  lora.field("targets",
             list_node(our_targets(targets.value_or(usual_targets()), keys.targets, settings)));
  if (dropout > 0.0) {
    lora.field("dropout", true);
  }
  return lora.take();
}

}  // namespace

std::optional<ConfigNode> read_bridge_adapters(FrameworkReader& settings, std::string_view task) {
  constexpr std::string_view kWithoutEffect =
      "peft_alpha peft_dropout_position peft_scheme peft_lora_* peft_network_alpha";
  settings.without_effect(kWithoutEffect);
  return read_adapters(settings, kBridgeKeys, trains_adapters(task));
}

std::optional<ConfigNode> read_primus_adapters(FrameworkReader& settings) {
  constexpr std::string_view kWithoutEffect =
      "lora.alpha lora.dropout_position lora.lora_A_init_method lora.lora_B_init_method";
  settings.without_effect(kWithoutEffect);
  return read_adapters(settings, kPrimusKeys, settings.is_on("lora.enabled", "training.lora"));
}

void add_adapters(std::optional<ConfigNode> lora, FrameworkExperiment& parts) {
  if (!lora) {
    return;
  }
  const bool latent = parts.model && parts.model->attention.kind == AttentionKind::kMla;
  for (ConfigEntry& entry : lora->entries) {
    const std::size_t named = entry.value.items.size();
    std::erase_if(entry.value.items, [latent](const ConfigNode& target) {
      return latent && target.text == name(LoraTarget::kQkv);
    });
    if (entry.value.items.size() < named) {
      parts.remarks.push_back({.outcome = ImportOutcome::kNotCarried,
                               .name = "linear_qkv",
                               .value = "among the adapted modules",
                               .ours = "training.lora.targets",
                               .note = "latent attention has no module of this name to adapt",
                               .where = {}});
    }
  }
  parts.training.entries.push_back({"lora", 0, 0, *std::move(lora)});
}

std::string_view adapted_module(LoraTarget target) {
  const AdaptedProduct* const known = row_with(kProducts, &AdaptedProduct::ours, target);
  return known == nullptr ? std::string_view{} : known->theirs;
}

std::string adapted_modules(const LoraSpec& lora) {
  std::string list;
  for (const LoraTarget target : lora.targets) {
    list += (list.empty() ? "[" : ", ") + std::string(adapted_module(target));
  }
  return list + "]";
}

}  // namespace stepcast
