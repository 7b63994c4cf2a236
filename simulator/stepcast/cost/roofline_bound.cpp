// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/roofline_bound.hpp"

namespace stepcast {
namespace {

template <typename Work>
Dtype dtype_of(const Work& work) {
  if constexpr (std::is_same_v<Work, MemoryBound> || kIsCommunication<Work>) {
    return Dtype::kBf16;  // without matrix products
  } else {
    return work.dtype;
  }
}

}  // namespace

Seconds roofline_bound(const Op& op, const DeviceSpec& device, Hertz clock) {
  const Seconds memory = compulsory_bytes(op) / device.hbm.peak;
  const Flops work = flops(op);
  const Dtype dtype = std::visit([](const auto& any) { return dtype_of(any); }, op.work);
  const std::optional<FlopsPerSecond> peak = device.matrix_peak(dtype, clock);
  const std::optional<FlopsPerSecond> base = device.matrix_peak(Dtype::kBf16, clock);
  return work > Flops{} ? max(work / peak.value_or(*base), memory) : memory;
}

}  // namespace stepcast
