// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/projection.hpp"

#include <algorithm>

namespace stepcast {

Bytes Projection::peak_memory() const {
  const StageMemory* fullest = fullest_stage();
  return fullest == nullptr ? Bytes{} : fullest->total();
}

const StageMemory* Projection::fullest_stage() const {
  const auto fullest = std::max_element(
      memory.begin(), memory.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
  return fullest == memory.end() ? nullptr : &*fullest;
}

}  // namespace stepcast
