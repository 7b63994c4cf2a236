// SPDX-License-Identifier: Apache-2.0
// Who divides a run of Trainer over its GPUs, and how: DistributedDataParallel, FSDP by accelerate
// or Trainer's own arguments, or DeepSpeed's ZeRO; and how many GPUs the launch line gives it.
//
// Source: huggingface/accelerate at 16cb6eb8 (utils/dataclasses.py, utils/fsdp_utils.py), Trainer's
// deepspeed integration of transformers 5, DeepSpeed 0.17 (runtime/zero/config.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/trainer_files.hpp"
#include "frameworks/trainer_run.hpp"

namespace stepcast {

enum class ShardingEngine { kReplicas, kFsdp1, kFsdp2, kDeepSpeed };

struct TrainerSharding {
  ShardingEngine engine = ShardingEngine::kReplicas;
  std::int64_t zero = 0;  // of DeepSpeed
  bool whole = false;     // FSDP that divides nothing
  bool reshards = true;
  bool hybrid = false;          // one copy a node
  bool checkpoints = false;     // FSDP's own activation checkpointing
  double states_on_host = 0.0;  // share of the optimizer's states and of gradients
  bool parameters_on_host = false;
  std::optional<bool> overlaps_reduction;
  // What DeepSpeed's file says itself, where it is not "auto", or accelerate's.
  std::optional<TrainerPrecision> precision;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> global_batch;
  std::string optimizer;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  bool ulysses = false;
  bool ring = false;
  std::optional<std::int64_t> shards;
  std::optional<std::int64_t> replicas;
};
TrainerSharding read_sharding(FrameworkReader& settings, const TrainerRun& run, TrainerTool tool);

struct TrainerWorld {
  std::int64_t gpus = 1;
  std::optional<std::int64_t> gpus_per_node;
};
// Whole nodes where nothing says how many; what is assumed is told.
TrainerWorld read_world(FrameworkReader& settings, const TrainerFile& file,
                        const TrainerSharding& sharding, const ImportInput& input);

}  // namespace stepcast
