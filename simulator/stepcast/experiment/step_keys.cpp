// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/step_keys.hpp"

namespace stepcast {

std::vector<std::pair<std::string, Seconds>> keys_beside_computation(const TimeBreakdown& time) {
  std::vector<std::pair<std::string, Seconds>> keys = {
      {"slowed by communication", time.contention}};
  for (const Axis axis :
       {Axis::kTensor, Axis::kExpert, Axis::kContext, Axis::kData, Axis::kPipeline}) {
    keys.emplace_back(std::string(name(axis)) + " communication", time.exposed[slot(axis)]);
  }
  keys.emplace_back("pipeline bubble", time.bubble);
  keys.emplace_back("optimizer", time.optimizer);
  keys.emplace_back("host", time.host);
  return keys;
}

}  // namespace stepcast
