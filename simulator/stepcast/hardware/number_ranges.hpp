// SPDX-License-Identifier: Apache-2.0
// What numbers of hardware may be, in the unit that stands beside each. The ends lie a thousand
// times beyond any part that is built or announced; between them a step takes a finite time, in
// which no number of the others is lost.
#pragma once

#include "stepcast/config/scalar.hpp"

namespace stepcast::limits {

// Of a whole number of parts.
inline constexpr Range<double> kCounted{1.0, 1e6};
// A share or rate of nothing would make a kernel or a collective take for ever.
inline constexpr Range<double> kShare{0.01, 1.0};

inline constexpr Range<double> kMegahertz{1.0, 1e5};
inline constexpr Range<double> kMicroseconds{0.0, 1e6};
inline constexpr Range<double> kNanoseconds{0.0, 1e9};
inline constexpr Range<double> kFlopsPerClock{1.0, 1e7};
inline constexpr Range<double> kBytesPerClock{0.1, 1e6};
inline constexpr Range<double> kGigabytesPerSecond{1e-3, 1e7};
inline constexpr Range<double> kTerabytesPerSecond{1e-6, 1e4};
inline constexpr Range<double> kGigabitsPerSecond{1e-3, 1e7};
inline constexpr Range<double> kKibibytes{1.0, 1e8};
inline constexpr Range<double> kMebibytes{1e-3, 1e7};
inline constexpr Range<double> kGigabytes{0.1, 1e6};
inline constexpr Range<double> kWatts{1.0, 1e5};

// One NIC for 16 GPUs to 64 for each.
inline constexpr Range<double> kNicsPerGpu{0.0625, 64.0};
inline constexpr UnitRange kNicRate{kGigabitsPerSecond, "Gb/s"};
inline constexpr UnitRange kLinkRate{kGigabytesPerSecond, "GB/s"};
inline constexpr UnitRange kLatency{kMicroseconds, "us"};

}  // namespace stepcast::limits
