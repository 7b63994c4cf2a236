// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/uncarried_saving.hpp"

#include <utility>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/enum_fields.hpp"

namespace stepcast {

std::vector<UncarriedSaving> read_uncarried_savings(MappingReader& reader,
                                                    Diagnostics& diagnostics) {
  const ConfigNode* const list = reader.take(kUncarriedSavings);
  if (list == nullptr) {
    return {};
  }
  if (list->kind != ConfigNode::Kind::kSequence) {
    reader.error(kUncarriedSavings, "must be a list of mappings: {setting, of}");
    return {};
  }
  std::vector<UncarriedSaving> savings;
  savings.reserve(list->items.size());
  for (const ConfigNode& item : list->items) {
    MappingReader one(item, kUncarriedSavings, diagnostics);
    UncarriedSaving saving;
    saving.setting = one.required_text("setting");
    saving.of = one.required_choice("of", enum_names<MemoryPart>());
    one.finish();
    savings.push_back(std::move(saving));
  }
  return savings;
}

ConfigNode uncarried_savings_node(const std::vector<UncarriedSaving>& savings) {
  ConfigNode list;
  list.kind = ConfigNode::Kind::kSequence;
  for (const UncarriedSaving& saving : savings) {
    ConfigWriter writer;
    writer.field("setting", saving.setting);
    writer.field("of", std::string(name(saving.of)));
    list.items.push_back(writer.take());
  }
  return list;
}

}  // namespace stepcast
