// SPDX-License-Identifier: Apache-2.0
// An experiment as Megatron's fields, which its arguments, Primus' overrides and Megatron Bridge's
// recipes share.
//
// Written is what differs from Megatron's defaults. What no field says (the GPU, kernels of the
// software set) is left to the comments of an export (exported_file.hpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frameworks/exported_file.hpp"
#include "frameworks/megatron_core.hpp"
#include "frameworks/setting.hpp"
#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// Collects fields in the order in which they are written.
class MegatronFieldWriter {
 public:
  void text(std::string_view name, std::string value) {
    fields_.push_back(text_setting(std::string(name), std::move(value), {}));
  }
  void count(std::string_view name, std::int64_t value) { text(name, std::to_string(value)); }
  // By our own key.
  void ours(std::string_view key, std::int64_t value) { count(MegatronFields::word(key), value); }
  void on(std::string_view name) { text(name, "true"); }
  void off(std::string_view name) { text(name, "false"); }
  std::vector<Setting> take() { return std::move(fields_); }

 private:
  std::vector<Setting> fields_;
};

// Who reads the fields.
enum class MegatronDialect { kMegatron, kPrimus, kBridge };

// Why the framework cannot run the experiment: adapters, blocks, schedules and dispatchers that it
// does not have.
std::vector<ExportRefusal> megatron_refusals(const ExportInput& input, MegatronDialect dialect);
// Why Megatron itself has not the model's layers, which Primus has; nothing where it has them.
std::optional<ExportRefusal> primus_alone(const ModelSpec& model);
// What Primus calls a schedule that Megatron itself does not have; empty for others.
std::string primus_schedule(Schedule schedule, const FrameworkWords& words);

std::vector<Setting> megatron_model_fields(const ModelSpec& model, MegatronDialect dialect);
// Whether what runs in 8 bits needs the recipe with scales of 32 elements: attention that has them,
// and the output matrix, which Megatron takes with no other.
bool asks_for_mxfp8(const Experiment& experiment);
std::vector<Setting> megatron_training_fields(const Experiment& experiment);
void write_megatron_optimizer(const OptimizerSpec& optimizer, MegatronFieldWriter& out);
// The fields that say which layers mix positions otherwise than by attention; nothing for attention
// alone.
void write_megatron_mixers(const ModelSpec& model, MegatronFieldWriter& out);
// Why Megatron cannot run it, if it cannot.
std::optional<ExportRefusal> why_megatron_lacks(const OptimizerSpec& optimizer);
std::vector<Setting> megatron_plan_fields(const Experiment& experiment, const ParallelPlan& plan,
                                          const FrameworkWords& words, MegatronDialect dialect);
std::vector<Setting> megatron_software_fields(const Experiment& experiment,
                                              const ParallelPlan& plan, MegatronDialect dialect);

// Megatron's text for stages: Et*8|(t*8|)*6t*5mL.
std::string layout_text(const std::vector<StageContent>& stages);

}  // namespace stepcast
