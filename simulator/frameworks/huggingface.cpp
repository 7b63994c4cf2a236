// SPDX-License-Identifier: Apache-2.0
#include "frameworks/huggingface.hpp"

#include "frameworks/trainer_experiment.hpp"
#include "frameworks/trainer_files.hpp"

namespace stepcast {
namespace {

ImportedExperiment import_by(TrainerDoor door, const ImportInput& input) {
  TrainerFile file = read_trainer_file(input, door);
  Diagnostics diagnostics;
  FrameworkReader settings(std::move(file.settings), diagnostics);
  settings.tell_absent_at(input.file);
  for (const ImportRemark& remark : file.remarks) {
    settings.remark(remark);
  }
  FrameworkExperiment parts = trainer_experiment(settings, file, input);
  return assembled(settings, std::move(parts), input);
}

}  // namespace

std::string_view huggingface_door(const ReadText& read) {
  const std::optional<TrainerDoor> door = trainer_door(read);
  return door ? name_of(*door) : std::string_view{};
}

ImportedExperiment import_deepspeed(const ImportInput& input) {
  return import_by(TrainerDoor::kDeepSpeed, input);
}
ImportedExperiment import_accelerate(const ImportInput& input) {
  return import_by(TrainerDoor::kAccelerate, input);
}
ImportedExperiment import_axolotl(const ImportInput& input) {
  return import_by(TrainerDoor::kAxolotl, input);
}
ImportedExperiment import_llamafactory(const ImportInput& input) {
  return import_by(TrainerDoor::kLlamaFactory, input);
}
ImportedExperiment import_trl(const ImportInput& input) {
  return import_by(TrainerDoor::kTrl, input);
}

}  // namespace stepcast
