// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/saved_tensor.hpp"

#include <array>

#include "stepcast/base/sum.hpp"

namespace stepcast {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define STEPCAST_NAME(enumerator, name) std::string_view{name},
constexpr std::array kTensorNames = {STEPCAST_SAVED_TENSORS(STEPCAST_NAME)};
#undef STEPCAST_NAME

}  // namespace

std::string_view name(TensorId id) { return kTensorNames.at(static_cast<std::size_t>(id)); }

Bytes total(const std::vector<SavedTensor>& tensors) {
  return sum_over(tensors, &SavedTensor::bytes);
}

}  // namespace stepcast
