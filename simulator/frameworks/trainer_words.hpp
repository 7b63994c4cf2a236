// SPDX-License-Identifier: Apache-2.0
// Keys of the Hugging Face world that change no prediction, and those that change the result and
// are priced by nothing: one list a program. What is in none of them, and is not read, is not
// known.
#pragma once

#include <string_view>

#include "frameworks/setting_reader.hpp"

namespace stepcast {

// Trainer's and TRL's arguments, and what scripts of instruction tuning add to them.
void leave_out_trainer_keys(FrameworkReader& settings);
void leave_out_axolotl_keys(FrameworkReader& settings);
void leave_out_llamafactory_keys(FrameworkReader& settings);
// Refuses keys behind `prefix` that change the sizes of the model.
void refuse_changed_model(FrameworkReader& settings, std::string_view prefix);
void leave_out_deepspeed_keys(FrameworkReader& settings);
void leave_out_accelerate_keys(FrameworkReader& settings);

// Sections of DeepSpeed's JSON, by which KEY=VALUE is known to be of it: a name that Trainer has as
// well is of DeepSpeed with a dot behind it alone, bf16.enabled=true.
inline constexpr std::string_view kDeepSpeedSections =
    "zero_optimization train_batch_size train_micro_batch_size_per_gpu optimizer scheduler bf16 "
    "fp16 bfloat16 gradient_clipping activation_checkpointing tensor_parallel";
inline constexpr std::string_view kDeepSpeedNames =
    "train_batch_size train_micro_batch_size_per_gpu zero_optimization";
// Keys of preference and reinforcement training, which have Trainer's beside them.
inline constexpr std::string_view kOtherTrainingKeys =
    "beta num_generations max_completion_length max_prompt_length use_vllm reward_funcs "
    "reward_model_path kl_coef num_ppo_epochs missing_eos_penalty rpo_alpha desirable_weight";
// Keys of accelerate's YAML that nothing else has.
inline constexpr std::string_view kAccelerateNames =
    "num_processes num_machines mixed_precision distributed_type deepspeed_config "
    "deepspeed_config_file zero_stage offload_optimizer_device offload_param_device gpu_ids "
    "machine_rank compute_environment";

}  // namespace stepcast
