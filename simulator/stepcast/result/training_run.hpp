// SPDX-License-Identifier: Apache-2.0
// What a run of many equal steps takes (experiment/goodput.hpp says how), and what it costs.
#pragma once

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

  [[nodiscard]] double days() const;
  [[nodiscard]] double gpu_hours() const;
  [[nodiscard]] double kilowatt_hours() const;
  [[nodiscard]] double gpu_kilowatt_hours() const;  // of the GPUs alone
  [[nodiscard]] Joules energy_per_token() const;
};

// What a GPU costs.
struct GpuHourPrice {
  double price = 0.0;  // of an hour of one GPU
  std::string currency = "$";
};

// What may be a price, or a limit of one: above 0 and below 10^12, of whatever it is counted in;
// days are limited alike.
bool is_amount(double amount);
// What a price may be counted in: a word or a sign of a few letters, which reports print behind a
// number.
bool is_currency(std::string_view text);

}  // namespace stepcast
