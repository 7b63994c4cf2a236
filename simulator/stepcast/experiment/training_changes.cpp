// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/training_changes.hpp"

namespace stepcast {

KeySettings left_out(const ConfigNode& experiment, const std::string& section,
                     const std::vector<std::string>& keys) {
  KeySettings settings;
  const ConfigNode* written = experiment.find(section);
  for (const std::string& key : keys) {
    if (written != nullptr && written->find(key) != nullptr) {
      settings.emplace_back(section + "." + key, "null");
    }
  }
  return settings;
}

KeySettings recomputation_settings(const ConfigNode& experiment, RecomputeKind kind) {
  KeySettings settings =
      left_out(experiment, "training",
               {"recompute_method", "recompute_layers", "recompute_modules", "memory_budget"});
  settings.emplace_back("training.recompute", std::string(name(kind)));
  return settings;
}

KeySettings optimizer_offload_settings(const ConfigNode& experiment) {
  const ConfigNode* training = experiment.find("training");
  const ConfigNode* optimizer = training == nullptr ? nullptr : training->find("optimizer");
  if (optimizer != nullptr && optimizer->kind == ConfigNode::Kind::kMapping) {
    return {{"training.optimizer.offload", "true"}};
  }
  const std::string kind = optimizer == nullptr ? "adamw" : optimizer->text;
  return {{"training.optimizer", "{kind: " + kind + ", offload: true}"}};
}

}  // namespace stepcast
