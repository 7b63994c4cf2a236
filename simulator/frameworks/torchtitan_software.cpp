// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_software.hpp"

#include <algorithm>
#include <array>

#include "frameworks/setting_reader.hpp"
#include "frameworks/words.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/framework_keys.hpp"

namespace stepcast {
namespace {

// A converter by a part of its name: "quantize.linear.float8", "Float8LinearConverter".
struct Converter {
  std::string_view part;
  std::string_view dtype;
};
constexpr std::array kConverters = {
    Converter{"float8", "fp8"},      Converter{"Float8", "fp8"}, Converter{"mx", "fp8_block"},
    Converter{"MXFP8", "fp8_block"}, Converter{"NVFP4", "fp4"},
};

bool names_experts(const std::string& converter) {
  return converter.find("grouped_mm") != std::string::npos ||
         converter.find("GroupedExperts") != std::string::npos;
}

void read_float8(FrameworkReader& settings) {
  const std::string prefix = "quantize.linear.float8.";
  settings.not_carried(prefix + "enable_fsdp_float8_all_gather",
                       "parameters are gathered in 8 bits; here in 16");
  settings.not_carried(prefix + "emulate", "products are emulated in 16 bits; here they run in 8");
  const std::string name = settings.has(prefix + "recipe_name")
                               ? prefix + "recipe_name"
                               : "converters.Float8LinearConverter.recipe_name";
  const std::string recipe = settings.text(name, "training.dtype").value_or("tensorwise");
  if (recipe == "rowwise_with_gw_hp") {
    settings.leave_out(name, recipe, "products of weight gradients run in bf16; here in 8 bits");
  } else if (recipe == "rowwise") {
    settings.leave_out(name, recipe, "a scale for each row; here one for each tensor is priced");
  } else if (recipe != "tensorwise") {
    settings.error(name, "is '" + recipe.substr(0, 60) +
                             "'; supported are tensorwise, rowwise and rowwise_with_gw_hp");
  }
}

// compile.enable with its components decides which set describes the operators.
void read_compile(FrameworkReader& settings, const TorchtitanStep& step, ConfigWriter& changes,
                  std::string& software) {
  const bool enabled = settings.is_on("compile.enable", "software");
  const std::vector<std::string> components =
      settings.texts("compile.components", "software")
          .value_or(std::vector<std::string>{"model", "loss"});
  const auto compiles = [&](std::string_view part) {
    return enabled && std::find(components.begin(), components.end(), part) != components.end();
  };
  software = compiles("model") ? "torchtitan" : "torchtitan_eager";
  if (compiles("model") != compiles("loss")) {
    changes.field("cross_entropy", compiles("loss") ? "compiled" : "eager");
  }
  settings.not_carried("compile.backend", "another compiler than Inductor", "inductor");
  const std::string async =
      step.recipe
          ? "compile.enable_async_tensor_parallel"
          : std::string(framework_name(FrameworkVocabulary::kTorchtitan, "software.async_tp"));
  if (settings.is_on(async, "software.async_tp")) {
    changes.field("async_tp", true);
  }
}

void read_states(FrameworkReader& settings, ConfigWriter& changes) {
  if (settings.text("training.dtype", "software.state_bytes").value_or("float32") == "bfloat16") {
    changes.field("fsdp_parameters_fp32", false);
    changes.begin("state_bytes");
    changes.field("parameter", "2 B");
    changes.field("gradient", "2 B");
    changes.field("optimizer", "4 B");
    changes.end();
  }
  settings.not_carried("training.mixed_precision_param", "products in 32 bits; here in 16",
                       "bfloat16");
  settings.not_carried("training.mixed_precision_reduce", "another format of reduced gradients",
                       "float32");
}

constexpr std::array kTorchtitanUnpriced = {
    UnpricedKey{"parallelism.disable_loss_parallel",
                "logits are gathered over tensor-parallel ranks; here they stay spread"},
    UnpricedKey{"parallelism.pipeline_parallel_schedule_csv", "a schedule of its own", ""},
    UnpricedKey{"parallelism.enable_fsdp_symm_mem",
                "gathers through symmetric memory; here NCCL's are priced"},
    UnpricedKey{"parallelism.enable_compiled_autograd", "backward is compiled as a whole"},
    UnpricedKey{"parallelism.context_parallel_load_balancer", "another balance of causal attention",
                "headtail"},
    UnpricedKey{"training.enable_cpu_offload",
                "parameters and optimizer on the host; here they stay on the GPU"},
    UnpricedKey{"optimizer.implementation", "another implementation of the optimizer", "fused"},
    UnpricedKey{"optimizer.early_step_in_backward", "the optimizer runs inside backward"},
    UnpricedKey{"fault_tolerance.enable", "replicas that come and go"},
    UnpricedKey{"debug.deterministic", "deterministic kernels, which are slower"},
    UnpricedKey{"debug.batch_invariant", "kernels that do not depend on the batch"},
    UnpricedKey{"debug.detect_anomaly", "checks of every gradient, which are slow"},
    UnpricedKey{"loss.class", "logits in chunks; here they are there at once", "CrossEntropyLoss"},
    UnpricedKey{"model.attn_backend", "a kernel of attention; here the software set says which",
                "sdpa"},
    UnpricedKey{"model.tp_gemm_backend", "products with their exchange inside", "default"},
    UnpricedKey{"model.non_blocking_capacity_factor",
                "buffers of a fixed size for what experts receive"},
    UnpricedKey{"converters.LoRAConverter.rank", "adapters; here all weights are trained"},
};

// The last of them are read where a pipeline, a cut of tensors or experts are there.
constexpr std::string_view kTorchtitanWithoutEffect =
    "job.* profiling.* profiler.* metrics.* lr_scheduler.* checkpoint.* checkpointer.* comm.* "
    "validation.* validator.* memory_estimation.* experimental.* fault_tolerance.* tokenizer.* "
    "dataloader.* override.* debug.* loss.* hf_assets_path dump_folder model.name "
    "model.hf_assets_path model.tokenizer_path model.print_after_conversion model.norm_type "
    "model.use_flex_attn model.attn_mask_type optimizer.* training.dataset* training.max_norm "
    "training.steps training.gc_* training.seed training.deterministic training.warmup_steps "
    "activation_checkpoint.* quantize.* converters.* parallelism.spmd_backend "
    "parallelism.context_parallel_ptrr_mask_key parallelism.fsdp_* "
    "parallelism.pipeline_parallel_* parallelism.num_pp_microbatches "
    "parallelism.context_parallel_rotate_method parallelism.enable_sequence_parallel "
    "parallelism.expert_tensor_parallel_degree parallelism.expert_parallel_comm_backend "
    "parallelism.module_fqns_per_model_part model.moe_comm_backend flux.* eval.*";

}  // namespace

std::string_view read_torchtitan_dtype(FrameworkReader& settings, const TorchtitanStep& step) {
  const std::vector<std::string> converters =
      settings.texts("model.converters", "training.dtype").value_or(std::vector<std::string>{});
  // Of 2024, before converters.
  const bool switched =
      settings.is_on("quantize.linear.float8.enable_float8_linear", "training.dtype");
  std::string_view dtype = switched ? "fp8" : "bf16";
  bool experts = false;
  for (const std::string& converter : converters) {
    const Converter* const known = row_within(kConverters, &Converter::part, converter);
    if (known == nullptr) {
      settings.leave_out("model.converters", converter.substr(0, 60),
                         "a converter that is not known here");
      continue;
    }
    dtype = known->dtype;
    experts = experts || names_experts(converter);
  }
  read_float8(settings);
  if (dtype != "bf16" && step.has_experts && !experts) {
    settings.leave_out("model.converters", std::string(dtype),
                       "of the linear layers alone; here the experts' products are in it too");
  }
  return dtype;
}

void read_torchtitan_software(FrameworkReader& settings, const TorchtitanStep& step,
                              FrameworkExperiment& parts) {
  ConfigWriter changes;
  read_compile(settings, step, changes, parts.software);
  read_states(settings, changes);
  const bool disabled = settings.is_on("training.disable_cuda_graphs", "software.cuda_graph");
  if (step.recipe && step.pp == 1 && !disabled) {
    changes.field("cuda_graph", true);
  }
  parts.software_changes = changes.take();
  if (settings.is_on("debug.moe_force_load_balance", "expert_exchange.routing") &&
      step.has_experts) {
    ConfigWriter exchange;
    exchange.field("routing", "round_robin_forced");
    parts.expert_exchange = exchange.take();
  }
}

void leave_out_torchtitan_keys(FrameworkReader& settings) {
  settings.not_carried(kTorchtitanUnpriced);
  settings.without_effect(kTorchtitanWithoutEffect);
}

}  // namespace stepcast
