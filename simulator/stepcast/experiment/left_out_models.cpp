// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/left_out_models.hpp"

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

std::string lacking_for_model(const std::string& name, const DataRoot& data) {
  const std::filesystem::path file = data.left_out_models();
  if (!std::filesystem::exists(file)) {
    return "";
  }
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader top(root, "", diagnostics);
  MappingReader models = top.required_mapping("models");
  std::string found;
  for (const ConfigEntry& entry : models.node().entries) {
    MappingReader model = models.required_mapping(entry.key);
    const std::string lacks = model.required_text("lacks");
    model.required_text("source");
    model.finish();
    found = entry.key == name ? lacks : found;
  }
  diagnostics.throw_if_any();
  return found;
}

}  // namespace stepcast
