// SPDX-License-Identifier: Apache-2.0
// A text of somebody else as it was read: in which language it is written and, of data, what stands
// in it. Who asks whose it is reads it, and its import takes that over.
#pragma once

#include <optional>
#include <string>

#include "frameworks/text_form.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

struct ReadText {
  std::string text;
  std::string file;  // as messages call it
  TextForm form = TextForm::kYaml;
  // Of JSON and YAML; nothing where it cannot be read as one document.
  std::optional<ConfigNode> document;
  std::optional<Diagnostic> fault;  // of JSON and YAML: why it cannot
};

ReadText read_text(std::string text, std::string file);

// JSON where the text is an object of it, YAML otherwise. Throws ConfigError.
ConfigNode parse_data(const std::string& text, const std::string& file);

}  // namespace stepcast
