// SPDX-License-Identifier: Apache-2.0
#include "frameworks/export_refusal.hpp"

#include <utility>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

// The place of the innermost key of a dotted path that a mapping has; `around` if it has none.
Location innermost(const ConfigNode& mapping, std::string_view path, const Location& around) {
  const std::size_t dot = path.find('.');
  const ConfigEntry* entry = mapping.entry(path.substr(0, dot));
  if (entry == nullptr) {
    return around;
  }
  return dot == std::string_view::npos
             ? entry->location()
             : innermost(entry->value, path.substr(dot + 1), entry->location());
}

// A model in a file of its own says its keys there.
Location place_of(const std::string& key, const ConfigNode& root,
                  const std::filesystem::path& folder) {
  constexpr std::string_view kModel = "model.";
  const ConfigNode* model = root.find("model");
  if (key.starts_with(kModel) && model != nullptr && is_own_file(model->text)) {
    const ConfigNode own = load_config(folder / model->text);
    const std::string_view rest = std::string_view(key).substr(kModel.size());
    return innermost(own, rest, {own.location().file, 1, 1});
  }
  return innermost(root, key, root.location());
}

}  // namespace

std::optional<ExportRefusal> trains_less(const TrainedWeights& weights, std::string reason) {
  if (weights.whole_model()) {
    return std::nullopt;
  }
  return ExportRefusal{weights.lora ? "training.lora" : "training.frozen", "", std::move(reason),
                       "export primus or megatron_bridge, or leave the key out"};
}

void throw_refusals(const std::vector<ExportRefusal>& refusals, std::string_view framework,
                    const ConfigNode& root, const std::filesystem::path& folder) {
  Diagnostics diagnostics;
  for (const ExportRefusal& refusal : refusals) {
    const std::string value = refusal.value.empty() ? "" : " " + refusal.value;
    diagnostics.error(place_of(refusal.key, root, folder),
                      std::string(framework) + " cannot run '" + refusal.key + "'" + value + ": " +
                          refusal.reason + "; " + refusal.remedy);
  }
  diagnostics.throw_if_any();
}

}  // namespace stepcast
