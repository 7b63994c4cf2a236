// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_config.hpp"
#include "fuzz/targets.hpp"
#include "model_text.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast::fuzz {

int fuzz_hf(const std::uint8_t* data, std::size_t size) {
  static const HfTypes types = load_hf_types(DataRoot{STEPCAST_DATA_ROOT}.hugging_face_types());
  std::string written;
  try {
    written = to_yaml(import_hf_config(text_of(data, size), "config.json", "fuzz", types));
  } catch (const ConfigError& error) {
    promise(!error.diagnostics().empty(), "an error without a message");
    return 0;
  }
  try {
    promise(to_yaml(test::model_from(written, "fuzz")) == written,
            "an imported model does not survive its text");
  } catch (const ConfigError& error) {
    promise(false, "an imported model is refused: " + std::string(error.what()));
  }
  return 0;
}

}  // namespace stepcast::fuzz
