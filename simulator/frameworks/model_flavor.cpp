// SPDX-License-Identifier: Apache-2.0
#include "frameworks/model_flavor.hpp"

#include <algorithm>

namespace stepcast {
namespace {

std::string without_mtp_name(const std::string& name) { return name + "_without_mtp"; }

ModelSpec read_changed(const std::filesystem::path& file, std::string_view changes) {
  const ConfigNode root = changed(load_config(file), parse_config(changes, "the flavor's table"));
  Diagnostics diagnostics;
  MappingReader reader(root, "model", diagnostics);
  ModelSpec model = read_model(reader);
  diagnostics.throw_if_any();
  model.note = {};
  model.published = {};
  return model;
}

}  // namespace

const ModelFlavor* find_flavor(std::span<const ModelFlavor> flavors, std::string_view module,
                               std::string_view flavor) {
  const auto found = std::find_if(flavors.begin(), flavors.end(), [&](const ModelFlavor& row) {
    return row.module == module && row.flavor == flavor;
  });
  return found == flavors.end() ? nullptr : &*found;
}

ModelSpec without_mtp(ModelSpec model) {
  model.name = without_mtp_name(model.name);
  model.title += " without multi-token prediction";
  model.note = {};
  model.mtp_layers = 0;
  std::vector<std::int64_t>& ratios = model.attention.compression.ratios;
  ratios.resize(std::min(ratios.size(), static_cast<std::size_t>(model.layers)));
  model.published = {};
  return model;
}

ModelSpec model_of(const ModelFlavor& flavor, const DataRoot& data) {
  const std::filesystem::path file = data.models() / (std::string(flavor.ours) + ".yaml");
  ModelSpec model = flavor.changes.empty() ? load_model(file) : read_changed(file, flavor.changes);
  return flavor.without_mtp && model.mtp_layers > 0 ? without_mtp(std::move(model)) : model;
}

const ModelFlavor* flavor_of(std::span<const ModelFlavor> flavors, const std::string& shipped,
                             const std::string& name) {
  const auto found = std::find_if(flavors.begin(), flavors.end(), [&](const ModelFlavor& row) {
    return row.without_mtp ? name == without_mtp_name(std::string(row.ours))
                           : row.changes.empty() && row.ours == shipped;
  });
  return found == flavors.end() ? nullptr : &*found;
}

std::vector<std::string> flavor_names(std::span<const ModelFlavor> flavors,
                                      std::string_view module) {
  std::vector<std::string> names;
  for (const ModelFlavor& row : flavors) {
    if (row.module == module) {
      names.emplace_back(row.flavor);
    }
  }
  return names;
}

}  // namespace stepcast
