// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "model_text.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/model/model_spec.hpp"
#include "stepcast/model/parameter_inventory.hpp"

namespace stepcast::fuzz {

int fuzz_model(const std::uint8_t* data, std::size_t size) {
  ModelSpec model;
  try {
    model = test::model_from(text_of(data, size), "fuzz");
  } catch (const ConfigError&) {
    return 0;
  }
  const std::string written = to_yaml(model);
  std::string again;
  try {
    again = to_yaml(test::model_from(written, "fuzz"));
  } catch (const ConfigError& error) {
    promise(false, "the text of an accepted model is refused: " + std::string(error.what()));
  }
  promise(again == written, "a model does not survive its text");
  promise(count_parameters(model).total > 0, "a model has no parameters");
  promise(training_flops_per_token(model, 4096) > Flops{}, "a model has no FLOPs");
  return 0;
}

}  // namespace stepcast::fuzz
