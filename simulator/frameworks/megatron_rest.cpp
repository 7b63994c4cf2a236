// SPDX-License-Identifier: Apache-2.0
// Fields of Megatron that change no prediction, and those that change the result and are not
// priced. Sources: megatron/training/arguments.py and the dataclasses that it makes arguments of;
// Primus' configs/modules/megatron.
#include <array>

#include "frameworks/megatron_core.hpp"

namespace stepcast {
namespace {

// Names that end in '*' stand for all that begin so.
constexpr std::string_view kMegatronWithoutEffect =
    // Learning rates, losses, initial values.
    "lr lr_* min_lr decoupled_lr decoupled_min_lr weight_decay* start_weight_decay "
    "end_weight_decay override_opt* use_checkpoint_opt* adam_* sgd_momentum muon_* clip_grad "
    "warmup loss_scale* initial_loss_scale min_loss_scale hysteresis init_method* "
    "embedding_init_method* norm_epsilon layernorm_epsilon layernorm_zero_centered_gamma "
    "apply_layernorm_1p attention_softmax_in_fp32 apply_query_key_layer_scaling "
    "apply_residual_connection* seed data_parallel_random_init te_rng_tracker "
    "inference_rng_tracker calculate_per_token_loss head_lr_mult mtp_loss_scaling_factor "
    "moe_aux_loss_coeff moe_router_load_balancing_type moe_router_topk_scaling_factor "
    "moe_router_pre_softmax moe_router_bias_update_rate moe_router_dtype moe_input_jitter_eps "
    "moe_per_layer_logging moe_token_drop_policy moe_router_fusion "
    "moe_use_fused_router_with_aux_score disable_primus_topk_router moe_extended_tp "
    "moe_apply_probs_on_input moe_token_dropping rotary_* use_rotary_position_embeddings rope_* "
    "use_rope_scaling mscale* original_max_position_embeddings beta_fast beta_slow yarn_* "
    "add_position_embedding qk_clip* qk_l2_norm params_dtype glu_linear_offset "
    "final_logit_softcapping attn_logit_softcapping router_logit_softcapping swiglu_limit "
    "autocast_dtype "
    // Data, tokenizers, evaluation.
    "data_* train_data_path valid_data_path test_data_path split num_workers mock_data "
    "mock_dataset mmap_bin_files num_dataset_builder_threads dataloader_* dataset* "
    "create_attention_mask_in_dataloader reset_position_ids reset_attention_mask eod_mask_loss "
    "tokenizer_* tiktoken_* legacy_tokenizer trust_remote_code vocab_file merge_file train_iters "
    "train_samples eval_* exit_* skip_train full_validation sft_* stage per_split_data_args_path "
    "train_sync_interval train_steps sample_rate mask_* short_seq_prob encoder_seq_length "
    "decoder_seq_length retriever_* multiple_validation_sets bert_* titles_data_path "
    "query_in_block_prob use_one_sent_docs evidence_data_path "
    // Checkpoints and restarts.
    "save* load* no_save_* no_load_* finetune pretrained_checkpoint ckpt_* dist_ckpt_* "
    "use_dist_ckpt* use_checkpoint_args auto_detect_ckpt_format async_save "
    "use_persistent_ckpt_worker non_persistent_* auto_continue_train disable_last_saving "
    "use_mp_args_from_checkpoint_args use_tokenizer_model_* adlr_autoresume* inprocess_restart* "
    "enable_ft_package calc_ft_timeouts rerun_* error_injection_* result_rejected_tracker_filename "
    "check_weight_hash* hf_path check_for_nan* check_for_spiky_loss check_for_large_grads "
    "converted_checkpoint* strict_fsdp_dtensor_load replication* "
    // Logging and profiles.
    "log_* logging_level tensorboard_* wandb_* mlflow_* one_logger_* enable_one_logger "
    "timing_log_* profile* use_pytorch_profiler pytorch_profiler_* torch_profiler_* nvtx_ranges "
    "use_nsys_profiler record_memory_history record_shapes memory_snapshot_path disable_wandb "
    "disable_tensorboard disable_mlflow app_tag_* wall_clock_step_timer barrier_with_L1_time "
    "stderr_sink_level sink_level file_sink_level use_rocm_mem_info* generate_tracelens_report "
    "disable_profiler* config_logger_dir iterations_to_skip run_workload_inspector_server "
    "disable_straggler* straggler_* dump_pp_data debug_scheduler_table test_mode trainable "
    "workspace "
    // How a run starts, and what is not this kind of run.
    "use_mcore_models deprecated_use_mcore_models use_legacy_models transformer_impl model_type "
    "spec distributed_backend distributed_timeout* local_rank lazy_mpu_init use_cpu_initialization "
    "perform_initialization enable_gloo_process_groups high_priority_stream_groups "
    "nccl_communicator_config_path manual_gc* empty_unused_memory_level "
    "init_model_with_meta_device disable_compile_dependencies pipeline_model_parallel_comm_backend "
    "tp_comm_bootstrap_backend yaml_cfg inference_* max_tokens_to_oom flash_decode onnx_safe "
    "retro_* dino_* vision_* swin_* img_* num_classes num_channels patch_dim classes_fraction "
    "iter_per_epoch ict_* biencoder_* block_data_path embedding_path indexer_* grpo_* rl_* "
    "langrl_* perform_rl_step output_bert_embeddings encoder_* decoder_num_layers pp_warmup "
    "align_* use_ring_exchange_p2p master_* node_rank rdzv_* "
    // Switches of kernels that the software sets have on.
    "bias_* masked_softmax_fusion persist_layer_norm no_persist_layer_norm "
    "async_tensor_model_parallel_allreduce tp_comm_* fp8_margin fp8_interval fp8_amax_* fp8_wgrad "
    "gradient_reduce_div_fusion clone_scatter_output_in_embedding "
    "scatter_gather_tensors_in_pipeline use_te_activation_func microbatch_group_size* "
    "suggested_communication_unit_size fsdp_double_buffer use_nccl_ub nccl_ub "
    "fsdp_manual_registration ddp_pad_buckets* ddp_average_in_collective average_in_* "
    "use_turbo_autotune turbo_gemm_backend turbo_grouped_gemm_backend turbo_deepep_use_comm_stream "
    "use_turbo_fused_act_with_probs turbo_grouped_gemm_without* use_turbo_norm_te_linear "
    "mxfp4_gradient* keep_fp8_transpose_cache* no_fp8_weight_transpose_cache "
    "disable_delayed_scaling_patches use_deprecated_20241209_moe_layer patch_moe_overlap "
    "enable_zb_runtime pre_communication_optimization zero_bubble_* "
    "enable_optimizer_post_validation enable_exactly_numeric_match enable_zero_bubble "
    "allow_padding_num_layers profile_memory_iter interleave_group_size communication_method "
    "pp_max_mem pp_cost_* odc_* weight_deosc_* pin_cpu_* use_torch_optimizer_for_cpu_offload "
    "cuda_graph_warmup_steps cuda_graph_use_single_mempool use_transformer_engine_op_fuser "
    "use_sharp sharp_enabled_group create_all_gather_group use_layer_wise* disable_bias_linear "
    "log_throughput moe_hybridep_* deallocate_pipeline_outputs batch_p2p_* fp16_lm_cross_entropy "
    "torch_compile* kda_* hc_* activation_situ* compress_rope_theta num_hash_layers "
    "mtp_use_separate_hc_head mtp_layer_type quantile_balancing_* latent_moe_use_norm use_v4_* "
    "v4_* attn_res_backend apply_wd_to_qk_layernorm moe_router_bias_update_rule "
    "standalone_embedding_stage offload_chunk_num offload_time auto_offload_time "
    "offload_overlap_sr offload_ops num_seq_splits exp_name work_group user_name "
    "moe_router_topk_limited_devices no_align_param_gather ''";

constexpr auto kUnpriced = std::to_array<UnpricedKey>({
    {"rampup_batch_size", "the first steps have smaller batches"},
    {"step_batch_size_schedule", "the batch grows while the training runs"},
    {"decrease_batch_size_if_needed", "the batch follows the number of GPUs"},
    {"moe_z_loss_coeff", "a further loss of the router"},
    {"moe_pad_expert_input_to_capacity", "all experts are padded to their capacity"},
    {"moe_expert_rank_capacity_factor", "a budget of rows a rank"},
    {"moe_paged_stash", "padded rows are kept in pages"},
    {"moe_use_upcycling", "experts are copies of a dense model"},
    {"moe_layer_recompute", "the older name of recompute_modules moe"},
    {"moe_use_device_initiated_grouped_gemm", "experts' kernels start themselves"},
    {"defer_embedding_wgrad_compute", "the embedding's gradient fills the pipeline"},
    {"wgrad_deferral_limit", "the embedding's gradient fills the pipeline", "0"},
    {"overlap_p2p_comm", "messages of a pipeline run beside computation wherever they can", "true"},
    {"overlap_param_gather_with_optimizer_step", "gathers begin in the optimizer step"},
    {"ddp_bucket_size", "buckets of gradients have the usual size", "None"},
    {"ddp_num_buckets", "buckets of gradients have the usual size", "None"},
    {"outer_dp_sharding_strategy", "optimizer states are sharded over replicas as well",
     "no_shard"},
    {"enable_full_sharding_in_hsdp", "all is sharded over replicas as well"},
    {"data_parallel_replicate_degree", "groups of FSDP2 that repeat each other", "1"},
    {"distribute_saved_activations", "inputs that stay are divided over tensor parallelism"},
    {"fine_grained_activation_offloading", "activations in the host's memory"},
    {"offload_modules", "activations in the host's memory"},
    {"cpu_offload", "activations in the host's memory"},
    {"offload", "activations in the host's memory"},
    {"fp8_param_gather", "parameters are gathered in 8 bits"},
    {"fp8_param", "parameters are gathered in 8 bits"},
    {"fp4_param", "parameters are gathered in 4 bits"},
    {"fp4_param_gather", "parameters are gathered in 4 bits"},
    {"fp8_dot_product_attention", "attention's products are in 8 bits"},
    {"fp8_multi_head_attention", "attention is in 8 bits"},
    {"enable_turbo_attention_float8", "attention's products are in 8 bits"},
    {"activation_func_fp8_input_store", "what an activation reads is kept in 8 bits"},
    {"first_last_layers_bf16", "the first and last layers stay in 16 bits"},
    {"num_layers_at_start_in_bf16", "the first layers stay in 16 bits", "1"},
    {"num_layers_at_end_in_bf16", "the last layers stay in 16 bits", "1"},
    {"reuse_grad_buf_for_mxfp8_param_ag", "a gather uses the gradients' buffer"},
    {"fp32_residual_connection", "residuals are in fp32"},
    {"deterministic_mode", "slower kernels that repeat themselves"},
    {"optimizer_cuda_graph", "the optimizer is captured"},
    {"heterogeneous_layers_config_path", "layers of different shapes"},
    {"heterogeneous_layers_config_encoded_json", "layers of different shapes"},
    {"megatron_fsdp_grad_comm_dtype", "gradients are reduced in this format", "fp32"},
    {"megatron_fsdp_main_grads_dtype", "gradients are kept in this format", "fp32"},
    {"megatron_fsdp_main_params_dtype", "the master copy is in this format", "fp32"},
    {"use_turbo_mega_moe", "one kernel for experts and exchange"},
    {"turbo_mega_moe_precision", "one kernel for experts and exchange", "bf16"},
    {"enable_odc", "gradients go from rank to rank on demand"},
    {"enable_1f1b_v", "a schedule whose stages lie in a V"},
    {"use_packed_attention", "several documents in a sequence"},
    {"enable_packed_sequences", "several documents in a sequence"},
    {"enable_offline_packing", "several documents in a sequence"},
    {"enable_fused_linear_ce", "the head is a part of the loss"},
    {"fused_ce_mode", "the head is a part of the loss", "none"},
    {"fused_ce_chunks", "the loss takes its tokens in parts", "1"},
    {"expert_tensor_parallel_num_weight_shards", "experts' weights are divided further", "1"},
    {"weight_deosc", "a pass over the weights now and then"},
});

}  // namespace

void read_megatron_rest(FrameworkReader& settings) {
  settings.not_carried(kUnpriced);
  settings.without_effect(kMegatronWithoutEffect);
}

}  // namespace stepcast
