// SPDX-License-Identifier: Apache-2.0
// What the software that exchanges tokens among experts reaches on a family of GPUs:
// hardware_profiles/exchange.
//
// Rates and times of one compute unit are those of the kernel that copies rows; a rate of 0 stands
// for one that never limits. dispatchers/exchange_kernel.hpp has the equation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/dispatcher.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// The kernel of one direction.
struct ExchangeKernel {
  Seconds start_up;               // layout, counts and barriers, whatever the tokens
  BytesPerSecond first_row_rate;  // of a single row through the pipeline
  Seconds token_time;             // of a unit for each token it sends or reduces
  BytesPerSecond token_rate;      // of a unit, over each token's row
  Seconds row_time;               // of a unit for each row it moves
  BytesPerSecond row_rate;        // of a unit, over the rows
  Seconds row_interval;           // between rows, however many units
  double link_share = 1.0;        // of what collectives achieve on the scale-up links
  double network_share = 1.0;     // of the NICs' wire rate
};

struct DispatcherConstants {
  std::int64_t units = 0;    // that its kernels hold by default; 0: copy engines, or by formula
  Seconds host_sync;         // until the host knows how many rows come, at dispatch
  double relay_share = 1.0;  // of the link rate, where rows from other domains are passed on
  double local_share = 0.0;  // of the HBM rate that local passes over rows achieve; 0: no passes
  BytesPerSecond scan_rate;  // over the routing map of all ranks; 0: none is scanned
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

// Reads a file's tree; its own sources are added to the shared `sources`, where each number comes
// from to `provenance`, and its problems to `diagnostics`.
ExchangeConstants read_exchange_constants(const ConfigNode& root, SourceTable& sources,
                                          std::vector<Provenance>& provenance,
                                          Diagnostics& diagnostics);

}  // namespace stepcast
