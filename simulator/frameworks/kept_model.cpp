// SPDX-License-Identifier: Apache-2.0
#include "frameworks/kept_model.hpp"

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

std::optional<KeptModel> kept_model(const ImportInput& input) {
  constexpr std::string_view kModelLine = "model=";
  constexpr std::string_view kLayersLine = "model.layers=";
  constexpr std::string_view kStandIn = "llama3.1_8b";
  std::optional<KeptModel> kept;
  for (const std::string& assignment : kept_assignments(input.text)) {
    if (!assignment.starts_with("model=") && !assignment.starts_with("model.")) {
      continue;
    }
    if (!kept) {
      kept = KeptModel{load_named_model(std::string(kStandIn), input.data, {}), false};
    }
    if (assignment.starts_with(kModelLine) && assignment.size() > kModelLine.size()) {
      kept = KeptModel{
          load_named_model(assignment.substr(kModelLine.size()), input.data, {input.file, 0, 0}),
          true};
    } else if (assignment.starts_with(kLayersLine)) {
      const ConfigNode written = text_setting({}, assignment.substr(kLayersLine.size()), {}).value;
      const auto layers = scan_whole(written, Range<std::int64_t>{1, 10'000});
      kept->model.layers = layers.fault == NumberFault::kNone ? layers.value : 1;
      kept->knows_layers = layers.fault == NumberFault::kNone;
    }
  }
  return kept;
}

}  // namespace stepcast
