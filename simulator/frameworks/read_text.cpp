// SPDX-License-Identifier: Apache-2.0
#include "frameworks/read_text.hpp"

#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/config/json_node.hpp"

namespace stepcast {
namespace {

std::optional<ConfigNode> document_of(const std::string& text, const std::string& file) {
  try {
    return parse_data(text, file);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

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
  ReadText read{std::move(text), std::move(file), TextForm::kYaml, std::nullopt};
  read.form = form_of(read.text, read.file);
  if (read.form == TextForm::kJson || read.form == TextForm::kYaml) {
    read.document = document_of(read.text, read.file);
  }
  return read;
}

}  // namespace stepcast
