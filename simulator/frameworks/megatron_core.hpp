// SPDX-License-Identifier: Apache-2.0
// The fields of Megatron Core, which four programs run and whose fields they give each in its own
// way: Megatron-LM's arguments, Primus' YAML, Megatron Bridge's recipes, MLPerf's variables of
// NeMo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frameworks/framework_words.hpp"
#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"
#include "stepcast/config/framework_keys.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// What a program around Megatron takes for granted.
struct MegatronSource {
  // What absent fields of the model are: Megatron's own defaults, or those of a model that the file
  // names.
  ModelSpec model;
  bool model_is_named = false;
  // --group-query-attention decides; else --num-query-groups does by itself.
  bool grouped_by_switch = true;
  bool overlaps_gradients = false;  // where nothing is said
  bool primus = false;              // its patches: routing forced expert after expert, 16-bit FSDP2
  bool uneven_stages = false;       // layers that no stages divide are spread as evenly as possible
  bool bf16 = false;                // where no format is named
  // The program is Megatron-DeepSpeed: ZeRO by its stage, experts by its rules.
  bool deepspeed = false;
  // Megatron's own layers run where nothing is said, not Transformer Engine's.
  bool own_layers = false;
  std::optional<DataRoot> shipped;  // models, whose sizes may say what the file leaves out
  std::optional<bool> distributed_optimizer;  // where nothing is said; else none
  Location whole_file;                        // for what is missing
  std::string software;                       // the usual set
  std::string gpu;                            // empty where the file names none
  std::optional<std::int64_t> gpus;           // of the whole job
  std::optional<std::int64_t> gpus_per_node;
};

// A model with Megatron's defaults: LayerNorm, learned positions, biases, two matrices, tied ends.
ModelSpec megatron_default_model();

// Degrees that other parts follow.
struct MegatronDegrees {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t cp = 1;
  std::int64_t ep = 1;
  std::int64_t vpp = 1;
  // Data parallelism, where the size of the job is known and divides.
  std::optional<std::int64_t> dp;
  bool fully_sharded = false;
  bool fsdp2 = false;  // PyTorch's
};

// Readers of one part each. `ours` of a field is looked up in the table of framework_keys.hpp.
class MegatronFields {
 public:
  MegatronFields(FrameworkReader& settings, const MegatronSource& source,
                 const FrameworkWords& words)
      : settings_(&settings), source_(&source), words_(&words) {}

  [[nodiscard]] FrameworkReader& settings() const { return *settings_; }
  [[nodiscard]] const MegatronSource& source() const { return *source_; }
  [[nodiscard]] const FrameworkWords& words() const { return *words_; }
  [[nodiscard]] bool has(std::string_view ours) const { return settings_->has(word(ours)); }
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view ours) const {
    return settings_->count(word(ours), ours);
  }
  [[nodiscard]] std::int64_t count_or(std::string_view ours, std::int64_t fallback) const {
    return settings_->count_or(word(ours), ours, fallback);
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view ours) const {
    return settings_->flag(word(ours), ours);
  }
  // A problem of the file as a whole.
  void error(std::string message) const {
    settings_->diagnostics().error(source_->whole_file, std::move(message));
  }
  // A count of at least 1, an error otherwise.
  [[nodiscard]] std::optional<std::int64_t> degree(std::string_view ours) const;
  [[nodiscard]] static std::string_view word(std::string_view ours) {
    return framework_name(FrameworkVocabulary::kMegatron, ours);
  }

 private:
  FrameworkReader* settings_;
  const MegatronSource* source_;
  const FrameworkWords* words_;
};

struct MegatronModel {
  ModelSpec model;
  std::optional<VocabularyRange> vocabulary;  // where it is a guess
};
MegatronModel read_megatron_model(const MegatronFields& fields);
ConfigNode read_megatron_training(const MegatronFields& fields, const MegatronDegrees& degrees);
// The key `optimizer` of the recipe.
ConfigNode read_megatron_optimizer(const MegatronFields& fields);
ConfigNode read_megatron_plan(const MegatronFields& fields, const ModelSpec& model,
                              MegatronDegrees& degrees);
ConfigNode read_megatron_software(const MegatronFields& fields, const ModelSpec& model,
                                  const MegatronDegrees& degrees);
ConfigNode read_megatron_exchange(const MegatronFields& fields, const ModelSpec& model);
// All of it. Reads every setting; the caller ends with Diagnostics::throw_if_any().
FrameworkExperiment read_megatron(FrameworkReader& settings, const MegatronSource& source,
                                  const FrameworkWords& words, UnknownSettings unknown);
// The words of configs/frameworks/megatron.yaml, which all four programs share.
FrameworkWords megatron_words(const DataRoot& data);

}  // namespace stepcast
