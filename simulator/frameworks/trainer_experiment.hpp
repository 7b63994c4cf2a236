// SPDX-License-Identifier: Apache-2.0
// An experiment of a run of Hugging Face's Trainer: what it trains, on how many GPUs, and who
// divides it.
//
//   per_device_train_batch_size 2, gradient_accumulation_steps 4, 8 GPUs   global_batch_size 64
//   fsdp_version 2, reshard_after_forward false           plan: {fsdp: 8, fsdp_reshard: false}
//   zero_stage 2                                          plan: {zero: 2}
#pragma once

#include <string>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/trainer_sharding.hpp"

namespace stepcast {

// In how many bits trained weights lie between steps, and why: `training.weights`.
struct TrainerWeights {
  bool narrow = false;  // 16 bits, with both moments; else fp32 under autocast
  std::string reason;
};
TrainerWeights weights_of(const TrainerRun& run, const TrainerSharding& sharding);

// Problems go to the reader's diagnostics; the result counts if there are none.
FrameworkExperiment trainer_experiment(FrameworkReader& settings, const TrainerFile& file,
                                       const ImportInput& input);

}  // namespace stepcast
