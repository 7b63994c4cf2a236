// SPDX-License-Identifier: Apache-2.0
// What a run of many equal steps takes: days, GPU-hours, energy.
//
//   steps  = ceil(tokens / tokens of a step)
//   wall   = steps * time of a step / goodput (run/goodput.hpp)
//   energy = wall * GPUs * (power of a GPU + host + network) * pue
//
// At 1,000 tokens/s/GPU, 15e12 tokens on 512 GPUs take 15e12 / 512,000 s = 339.1 days without
// interruptions, 4.17 million GPU-hours.
//
// Assumed: the step is the same from the first to the last (no warm-up of the batch, no longer
// sequences at the end, no evaluations), and all that stands still draws what it draws in a step.
#pragma once

#include <cstdint>

#include "stepcast/run/goodput.hpp"

namespace stepcast {

// The step that a run repeats.
struct TimedStep {
  Seconds time;
  std::int64_t tokens = 0;  // over all GPUs
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  Watts gpu_power;  // mean, of one GPU
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

TrainingRun training_run(const RunSpec& spec, const TimedStep& step);

}  // namespace stepcast
