// SPDX-License-Identifier: Apache-2.0
// The files of a run of Hugging Face's Trainer, put together as settings: a tool's YAML or JSON, a
// script that launches training, Python that builds TrainingArguments(...), DeepSpeed's JSON,
// accelerate's YAML, and those of them that another one names and that lie beside or above it.
//
//   per_device_train_batch_size         Trainer's arguments, or the tool's own keys, as they are
//   deepspeed.zero_optimization.stage   DeepSpeed's JSON; accelerate's deepspeed_config in its
//   words fsdp_config.reshard_after_forward   of Trainer, axolotl or accelerate, without fsdp_
//   parallelism_config.cp_size          of accelerate
//   accelerate.num_processes            what else accelerate's YAML or its launcher says
//   adapter.r                           adapter_config.json, or LoraConfig(...)
//
// Later ones count: accelerate's file, its launcher's options, the tool's file, arguments of the
// command, and KEY=VALUE last.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/launch_command.hpp"
#include "frameworks/read_text.hpp"
#include "frameworks/trainer_run.hpp"

namespace stepcast {

// Under which name a file is imported.
enum class TrainerDoor { kDeepSpeed, kAccelerate, kAxolotl, kLlamaFactory, kTrl };
std::string_view name_of(TrainerDoor door);

enum class TrainerFormat {
  kUnknown,
  kDeepSpeedJson,
  kAdapterJson,
  kAccelerateYaml,
  kArguments,  // Trainer's or TRL's, as YAML or JSON
  kAxolotl,
  kLlamaFactory,
  kShell,
  kPython,
};
// The door of a text that is one of them; nothing where its form and keys are of none, or of
// several frameworks, as those of most scripts.
std::optional<TrainerDoor> trainer_door(const ReadText& read);

struct TrainerFile {
  std::vector<Setting> settings;
  TrainerTool tool = TrainerTool::kPlain;
  LaunchSize size;       // that torchrun, DeepSpeed's launcher or a batch line is told of
  std::string launcher;  // "torchrun"; empty where no command is read
  std::vector<ImportRemark> remarks;
};

// Throws ConfigError.
TrainerFile read_trainer_file(const ImportInput& input, TrainerDoor door);

// The leaves of a mapping, with dots between the names on the way and `prefix` before them; and the
// keys at its top with what they hold.
std::vector<Setting> flat_settings(const ConfigNode& mapping, std::string_view prefix);
std::vector<Setting> top_settings(const ConfigNode& mapping, std::string_view prefix);

// The text of a file that is named in `input`: a path from its own folder or from one of those
// above it, as files of a repository name each other, or else the last part of the path beside it.
std::optional<std::string> text_near(const ImportInput& input, const std::string& name);

// A launch script, run with the files near it, and its command that runs a program.
struct LaunchedScript {
  ShellScript script;
  LaunchCommand command;
};
// Throws ConfigError if it has no such command.
LaunchedScript launched_script(const LaunchedProgram& program, const ImportInput& input);

// A script's training command, as settings in the order in which they count.
void read_trainer_command(const ImportInput& input, TrainerDoor door, TrainerFile& file);
// TrainingArguments(...), SFTConfig(...), LoraConfig(...) and from_pretrained(...) of a Python
// text.
void read_trainer_python(const ImportInput& input, TrainerFile& file);
// One text of data, whatever of them it is; `given` is what messages call it.
void add_trainer_text(const std::string& text, const std::string& given, TrainerFile& file);
// The files that settings name: DeepSpeed's JSON, accelerate's, FSDP's. What is not there stays as
// it was named.
void add_named_files(const ImportInput& input, TrainerFile& file);

}  // namespace stepcast
