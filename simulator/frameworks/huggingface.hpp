// SPDX-License-Identifier: Apache-2.0
// Experiments from the files that people train with Hugging Face's Trainer by.
//
//   stepcast import axolotl qlora.yml --gpu h100_sxm --nodes 1
//   stepcast import accelerate fsdp.yaml model_name_or_path=Qwen/Qwen3-8B bf16=true max_length=4096
//   stepcast import deepspeed train.sh           deepspeed train.py --deepspeed ds_config.json ...
//
// Each of the five names takes the tool's own file, and scripts and Python that launch it; what a
// file names and lies beside or above it is read with it (trainer_files.hpp). What follows it,
// KEY=VALUE, is in the words of Trainer, the tool, DeepSpeed (zero_optimization.stage=2) or
// accelerate (num_processes=16); arguments=FILE and adapter_config=FILE add a file.
//
// When it is wrong: how long samples are stands in no file, so that all have the full length;
// scripts may do anything with their arguments, and Python is scanned and not run.
#pragma once

#include <string_view>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/read_text.hpp"

namespace stepcast {

// The name above under which a text is imported; empty where it is none of these files.
std::string_view huggingface_door(const ReadText& read);

ImportedExperiment import_deepspeed(const ImportInput& input);
ImportedExperiment import_accelerate(const ImportInput& input);
ImportedExperiment import_axolotl(const ImportInput& input);
ImportedExperiment import_llamafactory(const ImportInput& input);
ImportedExperiment import_trl(const ImportInput& input);

}  // namespace stepcast
