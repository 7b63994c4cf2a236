// SPDX-License-Identifier: Apache-2.0
// Which dispatcher carries tokens to their experts and back in the least time, over ranks, choices
// of a token, tokens and nodes.
//
//   time   of a forward and a backward of one layer: all between the router and the sum of the
//          experts' results but the experts themselves, one after the other at one clock
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/result/projection.hpp"

namespace stepcast {

struct MapPoint {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;  // over which the ranks lie in equal parts
  std::int64_t topk = 1;
  std::int64_t tokens = 0;  // of a rank
};

struct DispatcherTime {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  std::optional<Seconds> time;  // empty: it cannot carry this exchange
  ExchangePrimitive dispatch = ExchangePrimitive::kAllToAll;  // that it runs
  ExchangePrimitive combine = ExchangePrimitive::kAllToAll;
};

struct MapRow {
  MapPoint point;
  std::vector<DispatcherTime> times;  // of every dispatcher

  // The fastest; null where none can.
  [[nodiscard]] const DispatcherTime* winner() const {
    const DispatcherTime* fastest = nullptr;
    for (const DispatcherTime& entry : times) {
      if (entry.time && (fastest == nullptr || *entry.time < *fastest->time)) {
        fastest = &entry;
      }
    }
    return fastest;
  }
};

// A dispatcher that is missing in some rows, and why in the first of them.
struct LeftOut {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  std::int64_t points = 0;
  std::string reason;
};

struct DispatcherMap {
  Projection projection;  // settled, not priced
  Hertz clock;
  std::vector<MapRow> rows;
  std::vector<LeftOut> left_out;
};

}  // namespace stepcast
