// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/saved_tensor.hpp"

#include "stepcast/base/sum.hpp"

namespace stepcast {

Bytes total(const std::vector<SavedTensor>& tensors) {
  return sum_over(tensors, &SavedTensor::bytes);
}

}  // namespace stepcast
