// SPDX-License-Identifier: Apache-2.0
#include "fuzz/imports.hpp"

#include "fuzz/targets.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::fuzz {

int fuzz_import(ImportedExperiment (*import_from)(const ImportInput&), const std::string& file,
                std::string_view text) {
  ImportInput input;
  input.text = std::string(text);
  input.file = file;
  input.gpu = "h100_sxm";
  input.data = {STEPCAST_DATA_ROOT};
  std::string written;
  try {
    written = to_yaml(import_from(input).experiment);
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error without a message");
    return 0;
  }
  try {
    promise(to_yaml(parse_config(written, "written")) == written,
            "an imported experiment does not survive its text");
  } catch (const ConfigError& error) {
    promise(false, "an imported experiment is refused: " + std::string(error.what()));
  }
  return 0;
}

}  // namespace stepcast::fuzz
