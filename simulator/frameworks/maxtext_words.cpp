// SPDX-License-Identifier: Apache-2.0
#include "frameworks/maxtext_words.hpp"

#include <array>
#include <string>

#include "frameworks/setting_reader.hpp"

namespace stepcast {
namespace {

constexpr auto kUnpriced = std::to_array<UnpricedKey>({
    {"dtype", "another format of activations; here bf16", "bfloat16"},
    {"grad_dtype", "another format of gradients", "float32"},
    {"optimizer_memory_host_offload", "the optimizer's states are on the host"},
    {"parameter_memory_host_offload", "parameters are on the host"},
    {"pipeline_delay_activation_forwarding", "a longer bubble with hidden transfers"},
    {"pipeline_fsdp_ag_once", "weights are gathered once for all micro-batches"},
    {"pipeline_fsdp_ag_per_repeat", "weights are gathered once for each repeat"},
    {"attention_type", "another mask or kind of attention", "global"},
    {"chunk_attn_window_size", "attention within chunks", "0"},
    {"attn_logits_soft_cap", "a bound on the logits of attention", "0.0"},
    {"final_logits_soft_cap", "a bound on the logits", "0.0"},
    {"decoder_block", "another kind of layer; here it follows from model_name", "llama2"},
    {"use_batch_split_schedule", "exchanges beside the products of half a batch"},
    {"use_ring_of_experts", "experts that exchange in a ring"},
    {"shard_exp_on_fsdp", "experts are spread over fsdp"},
    {"num_moe_token_chunks", "experts in chunks of tokens", "1"},
    {"ragged_buffer_factor", "a smaller buffer for what experts receive", "-1.0"},
    {"dropout_rate", "dropout", "0.0"},
    {"num_vocab_tiling", "logits in chunks", "1"},
    {"te_comm_gemm_overlap", "collectives beside products", "disabled"},
    {"use_dpo", "preference training: a second model runs forward"},
    {"enable_diloco", "replicas that meet only now and then"},
    {"use_multimodal", "an encoder of images"},
    {"lora_input_adapters_path", "adapters; here all weights are trained", ""},
    {"custom_mesh_and_rule", "another placement of axes", ""},
    {"enable_rampup_batch_size", "a batch that grows"},
    {"use_indexer", "sparse attention with an indexer"},
    {"moba", "attention over chosen blocks"},
    {"share_kv_projections", "keys and values of one product"},
    {"use_double_wide_mlp", "a wider feed-forward block"},
    {"num_kv_shared_layers", "layers that share keys and values", "0"},
    {"mhc_expansion_rate", "several residual streams", "1"},
    {"engram_layers", "layers of another kind", ""},
    {"float32_logits", "products of attention in 32 bits"},
    {"activations_in_float32", "activations in 32 bits"},
    {"mlp_bias", "a bias of the feed-forward block"},
    {"merge_gating_gmm", "one product instead of two"},
    {"training_objective", "another objective", "causal_lm"},
    {"matmul_precision", "products in several passes", "default"},
    {"logits_dot_in_fp32", "the head's product in 32 bits"},
    {"float32_qk_product", "products of attention in 32 bits"},
    {"float32_weight_sum", "experts' results are added up in 16 bits", "true"},
    {"use_iota_embed", "the embedding is a product with rows of zeros and a one"},
    {"weight_sparsity_n", "sparse weights", "null"},
    {"context_parallel_load_balance", "ranks with early tokens wait for the others", "true"},
    {"compile_xla_flags", "flags of XLA; AMD's are the sets maxtext_2026_04 and _05", ""},
    {"use_post_attn_norm", "a further norm behind attention"},
    {"use_post_ffw_norm", "a further norm behind the feed-forward block"},
    {"global_head_dim", "heads of another width in some layers", "0"},
    {"global_num_kv_heads", "other heads of keys in some layers", "0"},
    {"inhomogeneous_layer_cycle_interval", "layers of several kinds", "1"},
    {"hidden_size_per_layer_input", "an embedding of each layer", "0"},
    {"attention_output_dim", "a result of attention of another width", "-1"},
    {"moe_fsdp_use_two_stage_all_gather", "experts' weights are gathered in two steps"},
    {"dense_fsdp_use_two_stage_all_gather", "weights are gathered in two steps"},
    {"use_2d_fsdp_sharding", "experts' weights are sharded over two axes"},
    {"num_moe_emb_chunks", "experts in chunks of the width", "0"},
    {"use_ragged_sort", "other kernels that sort tokens"},
    {"packing", "several documents in a sequence; here one", "true"},
});

// Data, checkpoints, logging, learning rates, decoding, sizes of tiles, and what is read where it
// counts.
constexpr std::string_view kMaxTextWithoutEffect =
    "run_name enable_dropout hardware steps log_* metrics_file gcs_metrics enable_wandb wandb_* "
    "save_* load_* "
    "enable_checkpoint* checkpoint_* async_checkpointing max_num_checkpoints_to_keep "
    "enable_continuous_checkpointing enable_single_* enable_emergency_checkpoint "
    "enable_multi_tier_checkpointing multi_tier_* local_checkpoint_* source_checkpoint_layout "
    "colocated_* enable_autocheckpoint reuse_example_batch base_output_directory jax_* "
    "skip_jax_distributed_system dataset_* eval_* train_* hf_* grain_* tokenizer_* tokenize_* "
    "olmo_* add_bos add_eos use_truncation chat_template* use_chat_template max_corpus_chars "
    "default_prompt num_epoch generate_padding_* max_segments_per_seq expansion_factor_real_data "
    "learning_rate* lr_schedule_type warmup_steps_fraction wsd_* gradient_clipping_threshold "
    "adam_* adamw_mask muon_* skip_step_* profiler* skip_first_n_* "
    "upload_all_profiler_results profile_* enable_tpu_profiling_options tpu_num_* "
    "managed_mldiagnostics* dump_* enable_data_shuffling data_shuffle_seed init_weights_seed "
    "enable_goodput_* monitor_* goodput_* enable_pathways_* enable_gcp_* step_deviation_* "
    "report_* heartbeat_* enable_tensorboard use_vertex_tensorboard vertex_* max_checkify "
    "inference_* prefill_* generate_slice enable_model_warmup enable_llm_* multi_sampling "
    "return_log_prob stack_prefill_* ar_cache_* compute_axis_order reshape_q prometheus_port "
    "enable_jax_profiler xprof_* debug_sharding allow_split_physical_axes shardy sa_* local_sa_* "
    "use_splash_scheduler local_use_splash_scheduler max_prefill_predict_length prompt decode_* "
    "autoregressive_decode_assert target_eval_loss abort_on_* compiled_trainstep_file "
    "compile_topology* compile_xla_flags internal_compile* write_estimator_result mesh_axes "
    "logical_axis_rules* data_sharding input_data_sharding_* context_sharding sharding_tolerance "
    "num_slices rope_* max_position_embeddings original_max_position_embeddings beta_* mscale "
    "normalization_layer_epsilon normalize_embedding_logits logits_dot_in_fp32 use_iota_embed "
    "matmul_precision mlp_activations dense_init_scale param_scan_axis force_unroll "
    "scan_pipeline_* scan_layers_per_stage set_remat_policy_* num_pipeline_repeats routed_* "
    "n_routing_groups topk_routing_group norm_topk_prob wi_tile_* wo_tile_* "
    "context_parallel_* q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim mtp_* "
    "enable_padding_causal_mask override_* use_qwix_quantization quantize_kvcache "
    "replicate_quant_scale quantization_local_shard_count weight_quantization_* "
    "act_quantization_* bwd_quantization_* constant_bound_config quant_cfg_path model_call_mode "
    "inhomogeneous_layer_cycle_interval interleave_moe_* nope_layer_interval temperature_tuning "
    "causal_block_size z_loss_multiplier use_post_* "
    "decoder_layer_input context mlpwi* mlpwo moe_mlpwo query_* key_proj value_proj kv_* qkv_proj "
    "out_proj mla_* use_custom_sort_vjp num_pipeline_microbatches num_layers_per_pipeline_stage "
    "pipeline_parallel_layers shard_optimizer_over_data enable_nnx pure_nnx* hide_* optimizer_* "
    "enable_orbax_v1 use_manual_quantization weight_sparsity_* attention_output_dim global_* "
    "mlp_activations_limit cast_* float32_* moe_chunk_barrier moe_expert_input_dim "
    "num_moe_emb_chunks moe_dispatch_no_expert_sharding use_ragged_* ragged_* "
    "use_gather_mosaic_kernel use_gmm_v2 moe_fsdp_* use_2d_fsdp_sharding first_num_* "
    "shared_experts num_experts_per_tok base_moe_mlp_dim batch_split_factor indexer_* moe_mlpwi_* "
    "attention_out engram* v_norm_with_scale qk_norm_with_scale hidden_size_* "
    "vocab_size_per_layer_input moba_* use_sliced_mla_proj o_lora_rank o_groups compress* "
    "use_qk_clip qk_clip_threshold mtc_* ulysses_context_sharding custom_mesh* check_vma "
    "dense_fsdp_* vocab_tiling_ag_once per_device_batch_size_* max_inflight_computations "
    "block_diffusion_* diloco_* dcn_bandwidth_* enable_streaming_diloco num_diloco_fragments "
    "use_sequential_layers num_communication_* communication_overlapping_alpha use_untrainable_* "
    "trainable_position_size local_rope_* optimize_mesh_* remove_size_one_* ring_scan_unroll "
    "experimental_* use_max_logit_estimate cost_estimate_* dq_reduction_steps use_chunked_prefill "
    "enable_prefix_caching prefix_caching_* use_audio* freeze_* dtype_mm remat_policy_for_vit "
    "posemb_* max_num_images_* vision_* intermediate_size_* num_attention_heads_* num_channels_* "
    "patch_size_* conv_* num_hidden_layers_* projector_* pixel_shuffle_* spatial_merge_* "
    "out_hidden_size_* temporal_patch_* num_position_* deepstack_* d_model_* encoder_* "
    "attention_dropout_* activation_* num_mel_* max_source_* scale_* n_window_* downsample_* "
    "output_dim_* num_conv_* max_timescale_* max_sample_* use_mrope mrope_section position_id_* "
    "gdn_* use_qk_norm_in_gdn partial_rotary_factor use_jax_splash force_q_layout "
    "sinkhorn_iterations enable_mhc_lite use_mhc_* mhc_pallas_* collect_stack_trace stack_trace_* "
    "elastic_* vllm_* distill_* use_sft sft_* tile_* image_* audio_* video_* "
    "record_internal_nn_metrics shard_mode subslice_shape use_tokamax_* expert_shard_*";

// What a model of MaxText's list has of its own changes nothing where the file repeats it.
void leave_out_attention(FrameworkReader& settings, const AttentionSpec& attention) {
  const auto word = [](bool is_on) { return is_on ? "true" : "false"; };
  settings.not_carried("sliding_window_size", "attention over a window of another width",
                       std::to_string(attention.sliding_window));
  settings.not_carried("attention_sink", "learned logits of heads", word(attention.sinks));
  settings.not_carried("attention_bias", "biases of queries, keys and values",
                       word(attention.qkv_bias));
  settings.not_carried("use_qk_norm", "norms of queries and keys",
                       word(attention.qk_norm != QkNorm::kNone));
}

}  // namespace

void leave_out_maxtext_keys(FrameworkReader& settings, const AttentionSpec& attention) {
  settings.not_carried(kUnpriced);
  constexpr std::string_view kMask = "trainable_parameters_mask";
  if (const auto trained = settings.texts(kMask, {}); trained && !trained->empty()) {
    settings.leave_out(kMask, trained->front(), "a part of the weights is trained; here all");
  }
  leave_out_attention(settings, attention);
  settings.without_effect(kMaxTextWithoutEffect);
}

}  // namespace stepcast
