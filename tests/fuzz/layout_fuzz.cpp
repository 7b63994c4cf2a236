// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"
#include "stepcast/plan/stage_layout.hpp"

namespace stepcast::fuzz {

int fuzz_layout(const std::uint8_t* data, std::size_t size) {
  const LayoutResult result = parse_layout(text_of(data, size));
  promise(result.stages.empty() != result.reasons.empty(), "neither or both stages and reasons");
  std::int64_t letters = 0;
  for (const StageContent& stage : result.stages) {
    letters += 1 + stage.layers + stage.mtp_layers;
  }
  promise(letters <= 100'001, "a layout explodes");
  return 0;
}

}  // namespace stepcast::fuzz
