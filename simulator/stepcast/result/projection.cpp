// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/projection.hpp"

#include <algorithm>
#include <numeric>

namespace stepcast {

double ProvenanceShares::of(SourceKind kind) const {
  return std::accumulate(constants.begin(), constants.end(), 0.0,
                         [kind](double sum, const RestingConstant& entry) {
                           return sum + (entry.constant.kind == kind ? entry.share : 0.0);
                         });
}

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
