// SPDX-License-Identifier: Apache-2.0
// The command that launches a recipe of Megatron Bridge, with what differs from the recipe.
#include <algorithm>
#include <array>

#include "frameworks/bridge_adapters.hpp"
#include "frameworks/bridge_recipe.hpp"
#include "frameworks/megatron_writer.hpp"
#include "frameworks/written_text.hpp"

namespace stepcast {
namespace {

std::string_view precision_of(const Experiment& experiment) {
  switch (experiment.training.dtype) {
    case Dtype::kFp8:
      return asks_for_mxfp8(experiment) ? "fp8_mx" : "fp8_cs";
    case Dtype::kFp8Block:
      return "fp8_sc";
    case Dtype::kFp4:
      return "nvfp4";
    default:
      return "bf16";
  }
}

// Which part of a recipe a field belongs to.
std::string section_of_field(const std::string& name) {
  constexpr std::string_view kData =
      "use_distributed_optimizer use_megatron_fsdp data_parallel_sharding_strategy "
      "num_distributed_optimizer_instances overlap_grad_reduce overlap_param_gather";
  constexpr std::string_view kOverlap =
      "tp_comm_overlap overlap_moe_expert_parallel_comm delay_wgrad_compute";
  constexpr std::string_view kOptimizer =
      "optimizer use_precision_aware_optimizer exp_avg_dtype exp_avg_sq_dtype main_params_dtype "
      "sgd_momentum muon_num_ns_steps muon_tp_mode muon_nesterov muon_split_qkv "
      "optimizer_cpu_offload optimizer_offload_fraction overlap_cpu_optimizer_d2h_h2d";
  return is_among(kData, name)                 ? "ddp"
         : is_among(kOverlap, name)            ? "comm_overlap"
         : is_among(kOptimizer, name)          ? "optimizer"
         : name == "fp8_dot_product_attention" ? "mixed_precision"
         : name == "grad_reduce_in_fp32"       ? "mixed_precision"
                                               : "model";
}

// Megatron's arguments that recipes know under another name or the other way round.
void rename_for_recipes(std::vector<Setting>& fields) {
  for (Setting& field : fields) {
    if (field.name == "num_virtual_stages_per_pipeline_rank") {
      field.name = "virtual_pipeline_model_parallel_size";
    } else if (field.name == "grad_reduce_in_bf16") {
      field.name = "grad_reduce_in_fp32";
      field.value.text = field.value.text == "true" ? "false" : "true";
    }
  }
}

// What recipes turn on and an experiment that says nothing of it has off.
struct OffValue {
  std::string_view name;
  std::string_view value;
  bool of_experts = false;
};
constexpr std::array kOff = {
    OffValue{"virtual_pipeline_model_parallel_size", "null"},
    OffValue{"pipeline_model_parallel_layout", "null"},
    OffValue{"account_for_embedding_in_pipeline_split", "false"},
    OffValue{"account_for_loss_in_pipeline_split", "false"},
    OffValue{"context_parallel_size", "1"},
    OffValue{"recompute_granularity", "null"},
    OffValue{"cuda_graph_impl", "none"},
    OffValue{"fine_grained_activation_offloading", "false"},
    OffValue{"cpu_offloading", "false"},
    OffValue{"use_megatron_fsdp", "false"},
    OffValue{"overlap_grad_reduce", "false"},
    OffValue{"overlap_param_gather", "false"},
    OffValue{"use_precision_aware_optimizer", "false"},
    OffValue{"fp8_dot_product_attention", "false"},
    OffValue{"fp8_output_proj", "false"},
    OffValue{"overlap_moe_expert_parallel_comm", "false", true},
    OffValue{"delay_wgrad_compute", "false", true},
    OffValue{"moe_shared_expert_overlap", "false", true},
    OffValue{"moe_router_force_load_balancing", "false", true},
    OffValue{"moe_paged_stash", "false", true},
    OffValue{"moe_expert_rank_capacity_factor", "null", true},
};

void turn_off_the_rest(const Experiment& experiment, std::vector<Setting>& fields) {
  for (const OffValue& row : kOff) {
    const bool said = std::any_of(fields.begin(), fields.end(),
                                  [&](const Setting& field) { return field.name == row.name; });
    if (!said && (experiment.model.moe || !row.of_experts)) {
      fields.push_back(text_setting(std::string(row.name), std::string(row.value), {}));
    }
  }
}

// The family of a recipe's model: llama of llama31_405b, qwen3 of qwen3_30b_a3b.
std::string family_of(const std::string& recipe) {
  for (const std::string_view family : {"llama", "gpt_oss"}) {
    if (recipe.starts_with(family)) {
      return std::string(family);
    }
  }
  return recipe.substr(0, recipe.find('_'));
}

// Options that the launcher has itself.
bool is_option(const std::string& name) {
  constexpr std::string_view kOptions =
      "tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size "
      "virtual_pipeline_model_parallel_size expert_model_parallel_size expert_tensor_parallel_size "
      "global_batch_size micro_batch_size seq_length pipeline_model_parallel_layout "
      "recompute_modules recompute_num_layers";
  return is_among(kOptions, name);
}

// Fields that the precision and the recipe's model say already.
bool is_said_by_recipe(const Setting& field) {
  constexpr std::string_view kSaid =
      "bf16 fp8 fp8_recipe fp4 max_position_embeddings use_mcore_models";
  return is_among(kSaid, field.name);
}

std::string adapters_of(const LoraSpec& lora) {
  const std::string next = " \\\n    peft.";
  return next + "dim=" + std::to_string(lora.rank) + next +
         "dropout=" + (lora.dropout ? "0.1" : "0.0") + next +
         "target_modules=" + shell_argument(adapted_modules(lora));
}

}  // namespace

std::vector<ExportRefusal> why_not_megatron_bridge(const ExportInput& input) {
  const Experiment& experiment = input.experiment;
  std::vector<ExportRefusal> refusals = megatron_refusals(input, MegatronDialect::kBridge);
  if (bridge_gpu_name(experiment.named.gpu).empty() &&
      bridge_gpu_name(experiment.cluster.device.name).empty()) {
    refusals.push_back({"cluster.gpu", experiment.cluster.device.name, "it has no recipe for it",
                        "take one of " + bridge_gpu_names() + ", or export megatron or primus"});
  }
  const std::string& model = experiment.named.model;
  if (model.empty() || bridge_table_names(bridge_model_name(model), input.data).empty()) {
    refusals.push_back(
        {"model", experiment.model.name, "it has no recipe of this model", "export megatron"});
  }
  if (experiment.training.dtype == Dtype::kFp16) {
    refusals.push_back({"training.dtype", "fp16", "its recipes are bf16 and below", "take bf16"});
  }
  return refusals;
}

std::vector<ExportedFile> export_megatron_bridge(const ExportInput& input) {
  constexpr MegatronDialect kDialect = MegatronDialect::kBridge;
  const Experiment& experiment = input.experiment;
  const ParallelPlan& plan = input.plan;
  const std::string& named = experiment.named.gpu;
  const std::string gpu = bridge_gpu_name(named.empty() ? experiment.cluster.device.name : named);
  std::vector<Setting> fields = megatron_training_fields(experiment);
  for (std::vector<Setting> more :
       {megatron_plan_fields(experiment, plan, megatron_words(input.data), kDialect),
        megatron_software_fields(experiment, plan, kDialect)}) {
    fields.insert(fields.end(), more.begin(), more.end());
  }
  rename_for_recipes(fields);
  turn_off_the_rest(experiment, fields);
  std::string options;
  std::string overrides;
  for (const Setting& field : fields) {
    if (is_said_by_recipe(field)) {
      continue;
    }
    const std::string value = shell_argument(field.value.text);
    if (is_option(field.name) && value != "null") {
      options += " \\\n    --" + field.name + " " + value;
    } else {
      overrides += " \\\n    " + section_of_field(field.name) + "." + field.name + "=" + value;
    }
  }
  if (const auto& lora = experiment.training.weights.lora) {
    options += " \\\n    --task peft";
    overrides += adapters_of(*lora);
  }
  const std::string recipe = bridge_model_name(experiment.named.model);
  std::string text = "#!/bin/bash\npython scripts/performance/setup_experiment.py \\\n    -m " +
                     family_of(recipe) + " -mr " + recipe + " -ng " +
                     std::to_string(experiment.cluster.gpus()) + " -g " + gpu + " -c " +
                     std::string(precision_of(experiment)) + " \\\n    --gpus_per_node " +
                     std::to_string(experiment.cluster.gpus_per_node) +
                     " -a ${ACCOUNT} -p ${PARTITION} -i ${IMAGE}" + options + overrides + "\n";
  return {{"launch.sh", std::move(text)}};
}

}  // namespace stepcast
