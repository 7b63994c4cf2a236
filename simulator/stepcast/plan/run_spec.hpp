// SPDX-License-Identifier: Apache-2.0
// A training run, of which the step is one of many: how many tokens it takes, what interrupts it,
// and what its site draws beside the GPUs. Keys of the mapping `training`:
//
//   tokens: 15T
//   interruptions: {mtbf_per_gpu: 50000 h, checkpoint: {write: 60 s}, restart: 10 min}
//   energy: {host: 350 W, network: 70 W, pue: 1.2}
//
// Nothing interrupts a run that says nothing of it. No key of these changes a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepcast/base/units.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/training_recipe.hpp"

namespace stepcast {

struct CheckpointSpec {
  Seconds write;  // that training waits for; of an asynchronous one, only until it can go on
  std::optional<Seconds> interval;  // of training between two; the best one where it is left out
  bool operator==(const CheckpointSpec&) const = default;
};

// What keeps a run from training. Typical values, with where they come from:
//   mtbf_per_gpu  50,000 h: 419 unexpected interruptions in 54 days of 16,384 H100 (The Llama 3
//                 Herd of Models, arXiv 2407.21783, section 3.3.4), 54 * 24 * 16,384 / 419
struct Interruptions {
  // The mean time between failures that stop the job, times GPUs: whatever fails is counted.
  std::optional<Seconds> mtbf_per_gpu;
  std::optional<CheckpointSpec> checkpoint;
  Seconds restart;          // from a failure until training goes on where its checkpoint left it
  double stragglers = 0.0;  // share of the time that is lost to slow ranks; from 0 to 1

  [[nodiscard]] bool any() const {
    return mtbf_per_gpu.has_value() || checkpoint.has_value() || stragglers > 0.0;
  }
  bool operator==(const Interruptions&) const = default;
};

// What is drawn beside the GPUs, for each of them. Assumed, unless the experiment says otherwise.
struct SitePower {
  Watts host{350.0};    // CPUs, memory, fans, scale-up switches and NICs of a node
  Watts network{70.0};  // switches and transceivers between nodes
  double pue = 1.56;    // power usage effectiveness: all of the site over its computers
  bool operator==(const SitePower&) const = default;
};

// Where an assumption about a site comes from.
inline constexpr std::string_view kHostPowerSource =
    "8.4 kW measured of a node of 8 H100 in training (arXiv 2412.08602), less 8 x 700 W; NICs "
    "included";
inline constexpr std::string_view kNetworkPowerSource =
    "two tiers of 64 x 400 Gb/s switches of 747 W (QM9700), 3 ports a GPU, and their optics of 8.5 "
    "to 9 W a port";
inline constexpr std::string_view kPueSource =
    "mean of the Uptime Institute's survey of 2024; large operators report 1.1";

struct RunSpec {
  std::int64_t tokens = 0;
  Interruptions interruptions;
  SitePower site;
  bool operator==(const RunSpec&) const = default;
};

// Reads the keys above from the mapping `training`; nothing where no tokens are given, which the
// other keys need.
std::optional<RunSpec> read_run(MappingReader& training);
// Adds them to the mapping `training` that an experiment is written with.
void write_run(const RunSpec& run, ConfigNode& training);

// All of the mapping `training`: the recipe of a step, and the run that repeats it.
struct TrainingSection {
  TrainingRecipe recipe;
  std::optional<RunSpec> run;
};
// Problems go to the reader's diagnostics.
TrainingSection read_training_section(MappingReader reader);

}  // namespace stepcast
