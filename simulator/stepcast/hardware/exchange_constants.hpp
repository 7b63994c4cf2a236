// SPDX-License-Identifier: Apache-2.0
// What the software that exchanges tokens among experts reaches on a family of GPUs:
// hardware_profiles/exchange.
//
// Rates and times of one compute unit are those of the kernel that copies rows; a rate of 0 stands
// for one that never limits. dispatchers/exchange_kernel.hpp has the equation,
// exchange_tables.hpp says what each number is.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/dispatcher.hpp"

namespace stepcast {

// The kernel of one direction.
struct ExchangeKernel {
  Seconds start_up;
  BytesPerSecond first_row_rate;
  Seconds token_time;
  BytesPerSecond token_rate;
  Seconds row_time;
  BytesPerSecond row_rate;
  Seconds row_interval;
  double link_share = 1.0;
  double network_share = 1.0;
};

struct DispatcherConstants {
  std::int64_t units = 0;  // 0: copy engines, or by formula
  Seconds host_sync;
  double relay_share = 1.0;
  double local_share = 0.0;  // 0: no passes
  BytesPerSecond scan_rate;  // 0: none is scanned
  ExchangeKernel dispatch;
  ExchangeKernel combine;
};

struct ExchangeConstants {
  std::string name;
  std::array<DispatcherConstants, kDispatchers> dispatchers{};  // in the order of the enumeration

  [[nodiscard]] const DispatcherConstants& of(Dispatcher dispatcher) const {
    return dispatchers.at(slot(dispatcher));
  }
  [[nodiscard]] DispatcherConstants& of(Dispatcher dispatcher) {
    return dispatchers.at(slot(dispatcher));
  }
};

}  // namespace stepcast
