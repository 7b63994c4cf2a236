// SPDX-License-Identifier: Apache-2.0
#include "stepcast/result/dispatcher_map.hpp"

namespace stepcast {

const DispatcherTime* MapRow::winner() const {
  const DispatcherTime* fastest = nullptr;
  for (const DispatcherTime& entry : times) {
    if (entry.time && (fastest == nullptr || *entry.time < *fastest->time)) {
      fastest = &entry;
    }
  }
  return fastest;
}

}  // namespace stepcast
