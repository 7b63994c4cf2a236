// SPDX-License-Identifier: Apache-2.0
// What a run of many equal steps takes (experiment/goodput.hpp says how), and what it costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/plan/run_spec.hpp"

namespace stepcast {

// The share of a run's wall time that is training.
struct Goodput {
  double share = 1.0;               // of the wall time; from 0 to 1
  std::optional<Seconds> mtbf;      // of the job
  std::optional<Seconds> interval;  // of training between two checkpoints
};

inline constexpr Seconds kHour{3600.0};
inline constexpr Joules kKilowattHour = Watts(1000.0) * kHour;

struct TrainingRun {
  RunSpec spec;
  std::int64_t steps = 0;
  std::int64_t gpus = 0;
  Goodput goodput;
  Seconds wall;
  Watts gpu_power;
  Watts network_power;  // a GPU: none on one node
  Joules gpu_energy;
  Joules energy;  // of the site

  [[nodiscard]] double days() const { return wall / (24.0 * kHour); }
  [[nodiscard]] double gpu_hours() const { return static_cast<double>(gpus) * (wall / kHour); }
  [[nodiscard]] double kilowatt_hours() const { return energy / kKilowattHour; }
  // Of the GPUs alone.
  [[nodiscard]] double gpu_kilowatt_hours() const { return gpu_energy / kKilowattHour; }
  [[nodiscard]] Joules energy_per_token() const {
    return energy / static_cast<double>(spec.tokens);
  }
};

// What a GPU costs.
struct GpuHourPrice {
  double price = 0.0;  // of an hour of one GPU
  std::string currency = "$";
};

// What may be a price, or a limit of one: above 0 and below 10^12, of whatever it is counted in;
// days are limited alike.
inline bool is_amount(double amount) { return amount > 0.0 && amount < 1e12; }
// What a price may be counted in: a word or a sign of a few letters, which reports print behind a
// number.
inline bool is_currency(std::string_view text) {
  constexpr std::size_t kLongestCurrency = 12;
  return !text.empty() && text.size() <= kLongestCurrency && std::ranges::none_of(text, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code <= ' ' || code == 127 || (code >= '0' && code <= '9');
  });
}

}  // namespace stepcast
