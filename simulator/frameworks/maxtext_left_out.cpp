// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext_left_out.hpp"

#include <array>

namespace stepcast {
namespace {

struct LeftOut {
  std::string_view name;
  std::string_view meaning;
  std::string_view neutral = "false";
};

constexpr std::array kLeftOut = {
    LeftOut{"dtype", "another format of activations; here bf16", "bfloat16"},
    LeftOut{"grad_dtype", "another format of gradients", "float32"},
    LeftOut{"mu_dtype", "another format of the first moment", ""},
    LeftOut{"optimizer_memory_host_offload", "the optimizer's states are on the host"},
    LeftOut{"parameter_memory_host_offload", "parameters are on the host"},
    LeftOut{"global_parameter_scale", "all widths are scaled", "1"},
    LeftOut{"pipeline_delay_activation_forwarding", "a longer bubble with hidden transfers"},
    LeftOut{"pipeline_fsdp_ag_once", "weights are gathered once for all micro-batches"},
    LeftOut{"pipeline_fsdp_ag_per_repeat", "weights are gathered once for each repeat"},
    LeftOut{"attention_type", "another mask or kind of attention", "global"},
    LeftOut{"decoder_block", "another kind of layer; here it follows from model_name", "llama2"},
    LeftOut{"use_batch_split_schedule", "exchanges beside the products of half a batch"},
    LeftOut{"use_ring_of_experts", "experts that exchange in a ring"},
    LeftOut{"shard_exp_on_fsdp", "experts are spread over fsdp"},
    LeftOut{"num_moe_token_chunks", "experts in chunks of tokens", "1"},
    LeftOut{"ragged_buffer_factor", "a smaller buffer for what experts receive", "-1.0"},
    LeftOut{"enable_dropout", "dropout", "false"},
    LeftOut{"dropout_rate", "dropout", "0.0"},
    LeftOut{"num_vocab_tiling", "logits in chunks", "1"},
    LeftOut{"te_comm_gemm_overlap", "collectives beside products", "disabled"},
    LeftOut{"use_dpo", "preference training: a second model runs forward"},
    LeftOut{"enable_diloco", "replicas that meet only now and then"},
    LeftOut{"use_multimodal", "an encoder of images"},
    LeftOut{"lora_input_adapters_path", "adapters; here all weights are trained", ""},
    LeftOut{"custom_mesh_and_rule", "another placement of axes", ""},
    LeftOut{"enable_rampup_batch_size", "a batch that grows"},
    LeftOut{"packing", "several documents in a sequence; here one", "true"},
};

// Data, checkpoints, logging, learning rates, decoding, and sizes of tiles.
constexpr auto kWithoutEffect = std::to_array<std::string_view>({
    "run_name", "hardware", "steps", "log_*", "metrics_file", "gcs_metrics", "enable_wandb",
    "wandb_*", "save_*", "load_*", "enable_checkpoint*", "checkpoint_*", "async_checkpointing",
    "max_num_checkpoints_to_keep", "enable_continuous_checkpointing", "enable_single_*",
    "enable_emergency_checkpoint", "enable_multi_tier_checkpointing", "multi_tier_*",
    "local_checkpoint_*", "source_checkpoint_layout", "colocated_*", "enable_autocheckpoint",
    "reuse_example_batch", "base_output_directory", "jax_*", "skip_jax_distributed_system",
    "dataset_*", "eval_*", "train_*", "hf_*", "grain_*", "tokenizer_*", "tokenize_*", "olmo_*",
    "add_bos", "add_eos", "use_truncation", "chat_template*", "use_chat_template",
    "max_corpus_chars", "default_prompt", "num_epoch", "generate_padding_*",
    "max_segments_per_seq", "expansion_factor_real_data", "learning_rate*", "lr_schedule_type",
    "warmup_steps_fraction", "wsd_*", "gradient_clipping_threshold", "adam_*", "adamw_mask",
    "muon_*", "trainable_parameters_mask", "skip_step_*", "profiler*", "skip_first_n_*",
    "upload_all_profiler_results", "hide_profiler_*", "profile_*", "enable_tpu_profiling_options",
    "tpu_num_*", "managed_mldiagnostics*", "dump_*", "enable_data_shuffling", "data_shuffle_seed",
    "init_weights_seed", "enable_goodput_*", "monitor_*", "goodput_*", "enable_pathways_*",
    "enable_gcp_*", "step_deviation_*", "report_*", "heartbeat_*", "enable_tensorboard",
    "use_vertex_tensorboard", "vertex_*", "max_checkify", "inference_*", "prefill_*",
    "generate_slice", "enable_model_warmup", "enable_llm_*", "multi_sampling", "return_log_prob",
    "stack_prefill_*", "ar_cache_*", "compute_axis_order", "reshape_q", "prometheus_port",
    "enable_jax_profiler", "xprof_*", "debug_sharding", "enable_single_controller",
    "allow_split_physical_axes", "shardy", "sa_*", "local_sa_*", "use_splash_scheduler",
    "local_use_splash_scheduler", "max_prefill_predict_length", "prompt", "decode_*",
    "autoregressive_decode_assert", "target_eval_loss", "abort_on_*", "compiled_trainstep_file",
    "compile_topology*", "compile_xla_flags", "internal_compile*", "write_estimator_result",
    "mesh_axes", "logical_axis_rules*", "data_sharding", "input_data_sharding_*",
    "context_sharding", "sharding_tolerance", "num_slices", "rope_*", "max_position_embeddings",
    "original_max_position_embeddings", "beta_*", "mscale", "normalization_layer_epsilon",
    "normalize_embedding_logits", "logits_dot_in_fp32", "use_iota_embed", "matmul_precision",
    "mlp_activations", "dense_init_scale", "param_scan_axis", "force_unroll", "scan_pipeline_*",
    "scan_layers_per_stage", "set_remat_policy_*", "num_pipeline_repeats", "load_balance_loss_*",
    "routed_*", "n_routing_groups", "topk_routing_group", "norm_topk_prob", "wi_tile_*",
    "wo_tile_*"});
constexpr auto kWithoutEffectEither = std::to_array<std::string_view>({
    "attention", "context_parallel_*", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim",
    "qk_rope_head_dim", "v_head_dim", "mtp_*", "enable_padding_causal_mask", "override_*",
    "use_qwix_quantization", "quantize_kvcache", "kv_quant_*", "replicate_quant_scale",
    "quantization_local_shard_count", "checkpoint_is_quantized", "weight_quantization_*",
    "act_quantization_*", "bwd_quantization_*", "constant_bound_config", "quant_cfg_path",
    "model_call_mode", "inhomogeneous_layer_cycle_interval", "interleave_moe_*",
    "nope_layer_interval", "temperature_tuning", "use_qk_norm", "attention_bias",
    "attention_sink", "sliding_window_size", "chunk_attn_window_size", "causal_block_size",
    "attn_logits_soft_cap", "final_logits_soft_cap", "z_loss_multiplier", "use_post_*",
    "decoder_layer_input", "context", "mlpwi*", "mlpwo", "moe_mlpwo", "query_*", "key_proj",
    "value_proj", "kv_*", "qkv_proj", "out_proj", "mla_*", "use_custom_sort_vjp"});
constexpr auto kWithoutEffectMore = std::to_array<std::string_view>({
    "num_pipeline_microbatches", "num_layers_per_pipeline_stage", "pipeline_parallel_layers",
    "shard_optimizer_over_data", "enable_nnx", "pure_nnx*", "hide_*", "optimizer_*",
    "collect_stack_trace", "stack_trace_*", "elastic_*", "vllm_*", "distill_*", "use_sft",
    "sft_*", "tile_*", "image_*", "audio_*", "video_*", "record_internal_nn_metrics",
    "shard_mode", "subslice_shape", "use_tokamax_*", "expert_shard_*"});

}  // namespace

void leave_out_maxtext_keys(SettingReader& settings) {
  for (const LeftOut& key : kLeftOut) {
    settings.not_carried(key.name, key.meaning, key.neutral);
  }
  settings.without_effect(kWithoutEffect);
  settings.without_effect(kWithoutEffectEither);
  settings.without_effect(kWithoutEffectMore);
}

}  // namespace stepcast
