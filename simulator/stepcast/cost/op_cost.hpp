// SPDX-License-Identifier: Apache-2.0
// What an operator costs, and why.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"

namespace stepcast {

// What sets the time: matrix or vector units, HBM, the level of cache that feeds the units, the
// memory inside a unit, exponentials, start-up and launches, the fabric.
enum class Bound { kCompute, kMemory, kCache, kLocalMemory, kExponential, kLatency, kBandwidth };
template <>
inline constexpr std::array<std::string_view, 7> kNamesOf<Bound> = {
    "compute", "memory", "cache", "local_memory", "exponential", "latency", "bandwidth"};

// One part of a predicted time: "k_loop 139 us". Parts follow each other and add up to the
// duration; what runs beside a longer part and is hidden by it is no part.
struct CostTerm {
  std::string_view name;  // with static lifetime
  Seconds duration;
};

// How a kernel cuts its work, as far as its model knows; all zero if it does not.
struct Tiling {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t splits = 0;   // of the inner dimension
  std::int64_t cluster = 0;  // workgroups that share operands
  double waves = 0.0;        // workgroups over those that run at a time
};

// Where a price comes from: a model of kernels, or a table of the user's measurements, of which
// kFallback is what the table has nothing near.
enum class Origin { kModel, kMeasured, kInterpolated, kFallback };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<Origin> = {"model", "measured",
                                                                     "interpolated", "fallback"};

struct OpCost {
  Seconds duration;
  Bound bound = Bound::kCompute;
  Joules energy{};  // above idle, at the clock of the context
  Bytes hbm{};      // read and written there, by a kernel or by a collective on a rank
  Hertz clock{};    // of a kernel with a clock of its own (power_state.hpp)
  std::vector<CostTerm> terms{};  // filled only where the caller asks for them
  Tiling tiling{};                // likewise
  Origin origin = Origin::kModel;
  // Of a collective, with static lifetime; of an exchange that chooses, the primitive.
  std::string_view algorithm{};
  std::string_view protocol{};  // of a collective, likewise
  std::int64_t units = 0;       // compute units that a communication kernel holds while it runs
  double launches = 1.0;        // kernels that the host launches for it
  double calls = 1.0;           // of a framework in which they are launched, run eagerly
};

}  // namespace stepcast
