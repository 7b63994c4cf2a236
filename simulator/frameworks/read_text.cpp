// SPDX-License-Identifier: Apache-2.0
#include "frameworks/read_text.hpp"

#include <utility>

#include "stepcast/config/json_node.hpp"

namespace stepcast {
ConfigNode parse_data(const std::string& text, const std::string& file) {
  if (!is_json_text(text)) {
    return parse_config(text, file);
  }
  Diagnostics diagnostics;
  std::optional<ConfigNode> root = parse_json_object(text, {file}, diagnostics);
  diagnostics.throw_if_any();
  return *std::move(root);
}

ReadText read_text(std::string text, std::string file) {
  ReadText read{std::move(text), std::move(file), TextForm::kYaml, std::nullopt, std::nullopt};
  read.form = form_of(read.text, read.file);
  if (read.form == TextForm::kJson || read.form == TextForm::kYaml) {
    try {
      read.document = parse_data(read.text, read.file);
    } catch (const ConfigError& error) {
      read.fault = error.diagnostics().front();
    }
  }
  return read;
}

}  // namespace stepcast
