// SPDX-License-Identifier: Apache-2.0
// Source: pytorch/torchtitan, torchtitan/models/<module>/__init__.py at 2ea6197b9 of 2025-10-31
// (llama3_args, deepseekv3_args, qwen3_args, llama4_args) and at b5bcd76c of 2026-08-21
// (<module>_configs); gpt_oss at the former in torchtitan/experiments.
#include "frameworks/torchtitan_words.hpp"

#include <array>

#include "frameworks/torchtitan.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kLlamaDebug =
    "{name: torchtitan_llama3_debugmodel, title: 'debugmodel of torchtitan, llama3', "
    "source: 'pytorch/torchtitan torchtitan/models/llama3/__init__.py', hidden_size: 256, layers: "
    "6, vocabulary: 2048, attention: {heads: 16, kv_heads: 16, head_dim: 16}, mlp: {ffn_hidden: "
    "768}}";
constexpr std::string_view kQwen06 =
    "{name: qwen3_0.6b, title: Qwen3 0.6B, source: huggingface.co/Qwen/Qwen3-0.6B config.json, "
    "hidden_size: 1024, layers: 28, attention: {heads: 16}, mlp: {ffn_hidden: 3072}}";
constexpr std::string_view kQwen17 =
    "{name: qwen3_1.7b, title: Qwen3 1.7B, source: huggingface.co/Qwen/Qwen3-1.7B config.json, "
    "hidden_size: 2048, layers: 28, attention: {heads: 16}, mlp: {ffn_hidden: 6144}}";
constexpr std::string_view kQwenDebug =
    "{name: torchtitan_qwen3_debugmodel, title: 'debugmodel of torchtitan, qwen3', source: "
    "'pytorch/torchtitan torchtitan/models/qwen3/__init__.py', hidden_size: 256, layers: 8, "
    "vocabulary: 2048, attention: {heads: 16, kv_heads: 8, head_dim: 128}, mlp: {ffn_hidden: "
    "3072}, tied_embeddings: true}";
constexpr std::string_view kQwenMoeDebug =
    "{name: torchtitan_qwen3_debugmodel_moe, title: 'debugmodel_moe of torchtitan, qwen3', source: "
    "'pytorch/torchtitan torchtitan/models/qwen3/__init__.py', hidden_size: 256, layers: 8, "
    "vocabulary: 2048, attention: {heads: 16, kv_heads: 8, head_dim: 128}, moe: {experts: 64, "
    "experts_per_token: 8, expert_ffn_hidden: 768}}";
constexpr std::string_view kDeepSeekDebug =
    "{name: torchtitan_deepseek_v3_debugmodel, title: 'debugmodel of torchtitan, deepseek_v3', "
    "source: 'pytorch/torchtitan torchtitan/models/deepseek_v3/__init__.py', hidden_size: 256, "
    "layers: 6, vocabulary: 2048, mlp: {ffn_hidden: 1024}, moe: {experts: 8, experts_per_token: "
    "3, expert_ffn_hidden: 256, shared_expert_ffn_hidden: 512}}";

constexpr ModelFlavor with_attention(ModelFlavor flavor, std::string_view attention) {
  flavor.attention = attention;
  return flavor;
}

// The first row of a name is what it stands for; further ones are the same to torchtitan.
// torchtitan's models of 2025 have no multi-token prediction; those of 2026 have it on demand.
constexpr std::array kFlavors = {
    ModelFlavor{"llama2", "7B", "llama2_7b"},
    ModelFlavor{"llama2", "13B", "llama2_13b"},
    ModelFlavor{"llama2", "70B", "llama2_70b"},
    ModelFlavor{"llama3", "1B", "llama3.2_1b"},
    ModelFlavor{"llama3", "3B", "llama3.2_3b"},
    ModelFlavor{"llama3", "8B", "llama3.1_8b"},
    ModelFlavor{"llama3", "70B", "llama3.1_70b"},
    ModelFlavor{"llama3", "405B", "llama3.1_405b"},
    ModelFlavor{"llama3", "8B", "llama3_8b"},
    ModelFlavor{"llama3", "70B", "llama3_70b"},
    ModelFlavor{"llama3", "70B", "llama3.3_70b"},
    with_attention({"llama3", "8B_flex", "llama3.1_8b"}, "flex"),
    with_attention({"llama3", "8B_varlen", "llama3.1_8b"}, "varlen"),
    ModelFlavor{"llama3", "debugmodel", "llama3.1_8b", kLlamaDebug},
    with_attention({"llama3", "debugmodel_flex_attn", "llama3.1_8b", kLlamaDebug}, "flex"),
    with_attention({"llama3", "debugmodel_varlen_attn", "llama3.1_8b", kLlamaDebug}, "varlen"),
    ModelFlavor{"llama4", "17bx16e", "llama4_17b16e"},
    ModelFlavor{"llama4", "17bx128e", "llama4_17b128e"},
    ModelFlavor{"llama4", "17bx16e_irope", "llama4_17b16e"},
    ModelFlavor{"llama4", "17bx128e_irope", "llama4_17b128e"},
    ModelFlavor{"deepseek_v3", "16B", "deepseek_v3_16b"},
    ModelFlavor{"deepseek_v3", "236B", "deepseek_v2"},
    ModelFlavor{"deepseek_v3", "671B", "deepseek_v3", {}, true},
    ModelFlavor{"deepseek_v3", "debugmodel", "deepseek_v3_16b", kDeepSeekDebug},
    with_attention({"deepseek_v3", "debugmodel_flex_attn", "deepseek_v3_16b", kDeepSeekDebug},
                   "flex"),
    ModelFlavor{"qwen3", "debugmodel", "qwen3_4b", kQwenDebug},
    with_attention({"qwen3", "debugmodel_flex", "qwen3_4b", kQwenDebug}, "flex"),
    ModelFlavor{"qwen3", "debugmodel_moe", "qwen3_30b_a3b", kQwenMoeDebug},
    ModelFlavor{"qwen3", "0.6B", "qwen3_4b", kQwen06},
    ModelFlavor{"qwen3", "1.7B", "qwen3_4b", kQwen17},
    ModelFlavor{"qwen3", "4B", "qwen3_4b"},
    ModelFlavor{"qwen3", "8B", "qwen3_8b"},
    ModelFlavor{"qwen3", "14B", "qwen3_14b"},
    ModelFlavor{"qwen3", "32B", "qwen3_32b"},
    ModelFlavor{"qwen3", "30B-A3B", "qwen3_30b_a3b"},
    ModelFlavor{"qwen3", "235B-A22B", "qwen3_235b_a22b"},
    ModelFlavor{"qwen3_5",
                "35B-A3B",
                "qwen3_5_35b_a3b",
                {},
                true,
                "has a vision encoder before it, which is left out here"},
    ModelFlavor{"gpt_oss", "20b", "gpt_oss_20b"},
    ModelFlavor{"gpt_oss", "120b", "gpt_oss_120b"},
};

constexpr auto kTorchtitanUnpriced = std::to_array<UnpricedKey>({
    {"parallelism.disable_loss_parallel",
     "logits are gathered over tensor-parallel ranks; here they stay spread"},
    {"parallelism.pipeline_parallel_schedule_csv", "a schedule of its own", ""},
    {"parallelism.enable_fsdp_symm_mem",
     "gathers through symmetric memory; here NCCL's are priced"},
    {"parallelism.enable_compiled_autograd", "backward is compiled as a whole"},
    {"parallelism.context_parallel_load_balancer", "another balance of causal attention",
     "headtail"},
    {"optimizer.implementation", "another implementation of the optimizer", "fused"},
    {"optimizer.early_step_in_backward", "the optimizer runs inside backward"},
    {"fault_tolerance.enable", "replicas that come and go"},
    {"debug.deterministic", "deterministic kernels, which are slower"},
    {"debug.batch_invariant", "kernels that do not depend on the batch"},
    {"debug.detect_anomaly", "checks of every gradient, which are slow"},
    {"model.tp_gemm_backend", "products with their exchange inside", "default"},
    {"model.non_blocking_capacity_factor", "buffers of a fixed size for what experts receive"},
    {"converters.LoRAConverter.rank", "adapters; here all weights are trained"},
});

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

std::span<const ModelFlavor> torchtitan_flavors() { return kFlavors; }

void leave_out_torchtitan_keys(FrameworkReader& settings) {
  settings.not_carried(kTorchtitanUnpriced);
  settings.without_effect(kTorchtitanWithoutEffect);
}

}  // namespace stepcast
