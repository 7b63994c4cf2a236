// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/exchange, each described once (constant.hpp).
#pragma once

#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/exchange_constants.hpp"

namespace stepcast::exchange_tables {

// A ratio of nothing would make an exchange take for ever.
inline constexpr Range<double> kRatio{0.01, 2.0};
inline constexpr Range<double> kSearchedTimes{1.0, 3000.0};  // ns
inline constexpr Range<double> kSearchedRates{1.0, 1000.0};  // GB/s

using Host = DispatcherConstants;
inline constexpr auto kDispatcher = std::to_array<Constant<Host>>(
    {{"units", "", limits::kCounted, kByHand,
      "that its kernels hold by default: in their price, in the size of their buffers "
      "(deepep, also for deepep_v2) and in what they take from computation beside "
      "them; left out: copy engines, or by formula",
      &Host::units, kIfGiven},
     {"host_sync", "us", limits::kMicroseconds, kByHand,
      "until the host knows how many rows come, at dispatch", &Host::host_sync, kIfGiven},
     {"relay_share", "", kRatio, kByHand,
      "of the link rate that is left where rows of other domains are passed on; 1 if "
      "left out",
      &Host::relay_share, kIfGiven},
     {"local_share", "", kRatio, kByHand,
      "of hbm.achieved in its local passes over rows; left out: it has none", &Host::local_share,
      kIfGiven},
     {"scan_rate", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "over the routing map of all ranks, a byte a token and expert; left out: none "
      "is scanned",
      &Host::scan_rate, kIfGiven}});

using Kernel = ExchangeKernel;
inline constexpr auto kKernel = std::to_array<Constant<Kernel>>(
    {{"start_up", "us", limits::kMicroseconds, Range<double>{1.0, 200.0},
      "layout, counts and barriers, whatever the tokens", &Kernel::start_up},
     {"first_row_rate", "GB/s", limits::kGigabytesPerSecond, Range<double>{0.1, 1000.0},
      "of a single row through the pipeline", &Kernel::first_row_rate, kIfGiven},
     {"token_time", "ns", limits::kNanoseconds, kSearchedTimes,
      "of a unit for each token that it sends or reduces", &Kernel::token_time, kIfGiven},
     {"token_rate", "GB/s", limits::kGigabytesPerSecond, kSearchedRates,
      "of a unit, over each token's row", &Kernel::token_rate, kIfGiven},
     {"row_time", "ns", limits::kNanoseconds, kSearchedTimes,
      "of a unit for each row that it moves", &Kernel::row_time, kIfGiven},
     {"row_rate", "GB/s", limits::kGigabytesPerSecond, kSearchedRates, "of a unit, over the rows",
      &Kernel::row_rate, kIfGiven},
     {"row_interval", "ns", limits::kNanoseconds, Range<double>{0.05, 100.0},
      "between rows, however many units", &Kernel::row_interval, kIfGiven},
     {"link_share", "", kRatio, Range<double>{0.3, 1.5},
      "of what collectives achieve in the domain (links x rate x "
      "scale_up.efficiency)",
      &Kernel::link_share},
     {"network_share", "", kRatio, kByHand, "of the wire rate of a GPU's NICs",
      &Kernel::network_share}});

// Of a dispatcher whose kernels are its own, and of one that is the host's work alone.
inline constexpr auto kPartsOfKernels = [](auto& visit) {
  visit.own(kDispatcher);
  visit.part("dispatch", &DispatcherConstants::dispatch, parts_of(kKernel));
  visit.part("combine", &DispatcherConstants::combine, parts_of(kKernel));
};
inline constexpr auto kPartsOfHost = parts_of(kDispatcher);

// Visits what the section of a dispatcher states.
template <typename Visit>
void visit_section(ExchangeSection section, Visit& visit) {
  switch (section) {
    case ExchangeSection::kNone:
      break;
    case ExchangeSection::kHost:
      kPartsOfHost(visit);
      break;
    case ExchangeSection::kKernels:
      kPartsOfKernels(visit);
      break;
  }
}

}  // namespace stepcast::exchange_tables
