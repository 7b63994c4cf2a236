// SPDX-License-Identifier: Apache-2.0
#include "stepcast/pipeline/pipeline_transfer.hpp"

#include <algorithm>

#include "stepcast/base/sum.hpp"

namespace stepcast {

Seconds shared_transfer(Seconds transfer, const std::vector<StageTraffic>& stages) {
  if (stages.empty()) {
    return transfer;
  }
  const double busy = sum_over(stages, [](const StageTraffic& stage) {
    return stage.passes > Seconds{} ? std::min(1.0, stage.communication / stage.passes) : 0.0;
  });
  return (1.0 + busy / static_cast<double>(stages.size())) * transfer;
}

}  // namespace stepcast
