// SPDX-License-Identifier: Apache-2.0
#include "frameworks/import_check.hpp"

#include <algorithm>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {
namespace {

struct Place {
  std::shared_ptr<const std::string> file;
  int line = 0;
  int column = 0;
};

void put(ConfigNode& node, const Place& place) {
  node.file = place.file;
  node.line = place.line;
  node.column = place.column;
  for (ConfigNode& item : node.items) {
    put(item, place);
  }
  for (ConfigEntry& entry : node.entries) {
    entry.line = place.line;
    entry.column = place.column;
    put(entry.value, place);
  }
}

// What has no place of its own, as comments of an export have, gets that of the file.
void put_missing(ConfigNode& node, const Place& place) {
  if (node.file == nullptr) {
    node.file = place.file;
  }
  for (ConfigNode& item : node.items) {
    put_missing(item, place);
  }
  for (ConfigEntry& entry : node.entries) {
    put_missing(entry.value, place);
  }
}

// The value of a dotted path, or null.
ConfigNode* value_at(ConfigNode& root, std::string_view path) {
  ConfigNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    const auto found = std::find_if(node->entries.begin(), node->entries.end(),
                                    [key](const ConfigEntry& entry) { return entry.key == key; });
    node = found == node->entries.end() ? nullptr : &found->value;
  }
  return node;
}

}  // namespace

void check_import(const ImportedExperiment& imported, const ImportInput& input) {
  ConfigNode root = imported.experiment;
  if (root.find("cluster") == nullptr) {
    return;
  }
  for (const ImportRemark& remark : imported.remarks) {
    ConfigNode* const value = remark.ours.empty() ? nullptr : value_at(root, remark.ours);
    if (value != nullptr && value->file == nullptr && !remark.where.file.empty()) {
      put(*value, {std::make_shared<const std::string>(remark.where.file), remark.where.line,
                   remark.where.column});
    }
  }
  put_missing(root, {std::make_shared<const std::string>(input.file)});
  (void)read_experiment(root, {}, input.data);
}

}  // namespace stepcast
