// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/host_slices.hpp"

#include <algorithm>
#include <limits>

namespace stepcast {

std::vector<HostCall> host_calls(const std::vector<DeviceSlice>& slices) {
  std::vector<HostCall> calls(slices.size());
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = slices.size(); i-- > 0;) {
    const std::int64_t end = std::min(next, slices[i].begin);
    const std::int64_t begin = end - std::max(kShortest, slices[i].host);
    calls[i] = {begin, end};
    next = begin;
  }
  return calls;
}

}  // namespace stepcast
