// SPDX-License-Identifier: Apache-2.0
// What may have been measured: the keys of `measured` in a record, and the parts of a traced step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {

enum class Metric {
  kTokenRate,
  kStepTime,
  kPeakMemory,
  kPeakReservedMemory,
  kPeakDeviceMemory,
  kTime,
  kForwardTime,
  kBackwardTime,
  kDispatchTime,
  kCombineTime,
  kSavedBytes,
  kGemmTime,
  kCommunicationTime,
  kClock,
  kPower,
  kModelRate,
  kModelShare,
  kModelWork,
  kTensorBytes,
  kWireBytes,
  kInterconnectRate,
  kFits,
  kCategoryTime,
  kTransferTime,
};

enum class MetricUnit {
  kTokensPerSecond,
  kSeconds,
  kBytes,
  kMegahertz,
  kWatts,
  kTeraflopPerSecond,
  kShare,
  kFlop,
  kTerabytesPerSecond,
  kYesOrNo
};

// Whose metric it is: of a training run, of a layer by itself, of an operator. Several may be set.
using MetricOwners = std::uint8_t;
inline constexpr MetricOwners kOfRun = 1;
inline constexpr MetricOwners kOfLayer = 2;
inline constexpr MetricOwners kOfOperator = 4;

struct MetricInfo {
  std::string_view key;
  MetricUnit unit = MetricUnit::kSeconds;
  MetricOwners numbers_of = 0;  // in whose records the key has a number; of none: it is no such key
};

// In the order of the enumeration. `fits` is true or false; the last two are parts of a traced step
// and are followed by ":" and the name of a category.
inline constexpr std::array kMetrics = {
    MetricInfo{"tokens_per_second_per_gpu", MetricUnit::kTokensPerSecond, kOfRun},
    MetricInfo{"step_time_s", MetricUnit::kSeconds, kOfRun},
    MetricInfo{"peak_memory_bytes", MetricUnit::kBytes, kOfRun},
    MetricInfo{"peak_reserved_memory_bytes", MetricUnit::kBytes, kOfRun},
    MetricInfo{"peak_device_memory_bytes", MetricUnit::kBytes, kOfRun},
    MetricInfo{"time_s", MetricUnit::kSeconds, kOfOperator},
    MetricInfo{"forward_s", MetricUnit::kSeconds, kOfLayer | kOfOperator},
    MetricInfo{"backward_s", MetricUnit::kSeconds, kOfLayer | kOfOperator},
    MetricInfo{"dispatch_s", MetricUnit::kSeconds, kOfLayer | kOfOperator},
    MetricInfo{"combine_s", MetricUnit::kSeconds, kOfLayer | kOfOperator},
    MetricInfo{"saved_bytes", MetricUnit::kBytes, kOfLayer},
    MetricInfo{"gemm_s", MetricUnit::kSeconds, kOfOperator},
    MetricInfo{"communication_s", MetricUnit::kSeconds, kOfOperator},
    MetricInfo{"clock_mhz", MetricUnit::kMegahertz, kOfOperator},
    MetricInfo{"power_w", MetricUnit::kWatts, kOfOperator},
    MetricInfo{"tflops_per_gpu", MetricUnit::kTeraflopPerSecond, kOfRun},
    MetricInfo{"mfu", MetricUnit::kShare, kOfRun},
    MetricInfo{"flops_per_token", MetricUnit::kFlop, kOfRun},
    MetricInfo{"tensor_bytes", MetricUnit::kBytes, kOfOperator},
    MetricInfo{"wire_bytes", MetricUnit::kBytes, kOfOperator},
    MetricInfo{"effective_interconnect_tbps", MetricUnit::kTerabytesPerSecond, kOfOperator},
    MetricInfo{"fits", MetricUnit::kYesOrNo},
    MetricInfo{"category_s"},
    MetricInfo{"transfer_s"}};
static_assert(names_every_value<Metric, kMetrics.size()>(), "each metric needs a row");

constexpr const MetricInfo& info(Metric metric) {
  return kMetrics[static_cast<std::size_t>(metric)];
}
constexpr std::string_view key_of(Metric metric) { return info(metric).key; }

// The metric of a key of `measured` that has a number in records of `owner`.
constexpr std::optional<Metric> metric_named(std::string_view key, MetricOwners owner) {
  const auto* const found = std::ranges::find_if(kMetrics, [&](const MetricInfo& row) {
    return row.key == key && (row.numbers_of & owner) != 0;
  });
  return found == kMetrics.end() ? std::nullopt
                                 : std::optional(static_cast<Metric>(found - kMetrics.begin()));
}

// What a measured number may be. None of it is 0 but a rate of a run that failed: an error is
// relative to it.
constexpr Range<double> range_of(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kTokensPerSecond:
      return {0.0, 1e12};
    case MetricUnit::kSeconds:
      return {1e-9, 1e9};
    case MetricUnit::kBytes:
      return {1.0, 1e18};
    case MetricUnit::kMegahertz:
      return {1.0, 1e5};
    case MetricUnit::kWatts:
      return {1e-3, 1e5};
    case MetricUnit::kTeraflopPerSecond:
      return {1e-6, 1e6};
    case MetricUnit::kShare:
      return {1e-6, 1.0};
    case MetricUnit::kFlop:
      return {1.0, 1e18};
    case MetricUnit::kTerabytesPerSecond:
      return {1e-9, 1e3};
    case MetricUnit::kYesOrNo:
      return {0.0, 1.0};
  }
  return {};
}

}  // namespace stepcast
