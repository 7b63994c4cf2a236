// SPDX-License-Identifier: Apache-2.0
// Source: axolotl-ai-cloud/axolotl at 067b021c8 (utils/schemas, integrations/*/args.py);
// hiyouga/LLaMA-Factory at ff6d4d12e (src/llamafactory/hparams).
#include <array>

#include "frameworks/trainer_words.hpp"

namespace stepcast {
namespace {

constexpr auto kAxolotlUnpriced = std::to_array<UnpricedKey>({
    {"torch_compile", "generated kernels; here eager ones"},
    {"unsloth_lora_mlp", "kernels of Unsloth, which are not known here"},
    {"unsloth_lora_qkv", "kernels of Unsloth, which are not known here"},
    {"unsloth_lora_o", "kernels of Unsloth, which are not known here"},
    {"unsloth_cross_entropy_loss", "kernels of Unsloth, which are not known here"},
    {"unsloth_rms_norm", "kernels of Unsloth, which are not known here"},
    {"unsloth_rope", "kernels of Unsloth, which are not known here"},
    {"unfrozen_parameters", "some parameters alone are trained; here all are", ""},
    {"relora", "adapters that are merged and begun again"},
    {"relora_steps", "adapters that are merged and begun again", "0"},
    {"lisa_n_layers", "some layers alone are trained at a time", "0"},
    {"peft_use_dora", "weights are split into length and direction, which is more work"},
    {"peft_layers_to_transform", "adapters in some layers alone", ""},
    {"peft_layer_replication", "layers that share their weights", ""},
    {"lora_target_parameters", "adapters of experts' weights; here they are frozen", ""},
    {"lora_rank_pattern", "other ranks for some modules", ""},
    {"lora_embedding_kernel", "a kernel of its own for an adapted embedding"},
    {"flash_attn_cross_entropy", "a kernel of FlashAttention for the loss"},
    {"flash_attn_rms_norm", "a kernel of FlashAttention for norms"},
    {"flash_attn_fuse_mlp", "gate and up are one product"},
    {"flash_attn_fuse_qkv", "q, k and v are one product"},
    {"s2_attention", "attention within shifted groups"},
    {"gptq", "frozen weights have 4 bits", "false", MemoryPart::kParameters},
    {"qat", "products are rounded as quantised ones are", ""},
    {"quantize_moe_experts", "experts have fewer bits", "false", MemoryPart::kParameters},
    {"use_scattermoe", "kernels of its own for experts"},
    {"use_sonicmoe", "kernels of its own for experts"},
    {"use_kernels", "kernels of the Hub, which are not known here"},
    {"experts_implementation", "another way through experts", ""},
    {"expert_parallel_size", "experts are spread over ranks; here each has all", "1"},
    {"tiled_mlp", "feed-forwards take the tokens in parts", "false", MemoryPart::kWorkspace},
    {"layer_offloading", "frozen layers wait in the host's memory", "false",
     MemoryPart::kParameters},
    {"lora_on_cpu", "adapters are loaded by the host"},
    {"liger_layer_norm", "Liger's kernel for LayerNorm, which models with RMSNorm do not have",
     "true"},
    {"embeddings_skip_upcast", "embeddings stay in 16 bits"},
    {"fp32_norms", "norms are computed in fp32 layers of their own"},
    {"freeze_mm_modules", "vision encoders are not priced"},
    {"neftune_noise_alpha", "noise on embeddings, which is a few operators", "0"},
    {"dynamic_checkpoint", "checkpoints by need", ""},
    {"selective_checkpointing", "some operators alone are computed again", ""},
    {"use_onebitllms", "weights of one bit"},
    {"llama4_linearized_experts", "experts are layers of their own"},
    {"moe_grouped_backend", "another kernel for experts", ""},
    {"use_eaft", "another loss"},
    {"use_dsv4_kernels", "kernels of its own"},
    {"use_glm_dsa_kernels", "kernels of its own"},
    {"use_mora", "adapters of another form"},
    {"use_pose", "positions that skip, in parts of longer samples"},
    {"kd_trainer", "learns from a teacher's probabilities, which is another loss"},
    {"auto_find_batch_size", "the batch shrinks until it fits; here it stays"},
    {"num_labels", "a head that classifies; here one of the vocabulary", ""},
    {"group_by_length", "samples of like length in a batch"},
    {"fused_attn_kernel", "a kernel of its own for attention", "false"},
    {"model_quantization_config", "weights in fewer bits", ""},
    {"shrink_embeddings", "a smaller vocabulary"},
    {"deepcompile", "DeepCompile moves gathers and offloads"},
});
constexpr std::string_view kAxolotlWithoutEffect =
    "base_model_* tokenizer_* model_type processor_* trust_remote_code hub_* hf_* push_* datasets "
    "datasets.* test_datasets pretraining_dataset* dataset_* val_set_size output_dir "
    "sequence_length "
    "eval_* evals_* eval_sample_packing sample_packing_* pad_to_sequence_len wandb_* use_wandb "
    "mlflow_* use_mlflow comet_* use_comet swanlab_* use_swanlab trackio_* use_trackio lr_* "
    "learning_rate num_epochs max_steps warmup_* cosine_* weight_decay adam_* adam_beta* "
    "optim_args* resume_from_checkpoint auto_resume_from_checkpoints logging_steps log_* "
    "gradient_checkpointing_kwargs* tf32 bf16* fp16* bfloat16 float16 float32 local_rank debug "
    "seed "
    "save_* saves_* load_best_model_at_end metric_for_best_model greater_is_better "
    "special_tokens special_tokens.* tokens tokens.* eta_min test_value jagged_* cls_model_config "
    "fp8_* added_tokens_overrides* chat_template* eot_tokens "
    "train_on_* roles_to_train strict early_stopping_patience loss_watchdog_* torchdistx_path "
    "remove_unused_columns skip_prepare_dataset ddp_* low_cpu_mem_usage device_map max_memory "
    "lora_alpha lora_model_dir lora_fan_in_fan_out lora_modules_* peft.* "
    "peft_autocast_adapter_dtype "
    "peft_ensure_weight_tying peft_init_lora_weights peft_layers_pattern "
    "peft_trainable_token_indices peft_use_rslora loftq* "
    "lora_dropout lora_r lora_target_* lora_qkv_kernel lora_o_kernel lora_mlp_kernel loraplus_* "
    "is_llama_derived_model is_mistral_derived_model is_falcon_derived_model "
    "is_qwen_derived_model type_of_model "
    "rope_scaling* cut_cross_entropy liger_* "
    "shuffle_* curriculum_sampling group_size dataloader_* excess_length_strategy min_sample_len "
    "total_num_tokens total_supervised_tokens resize_token_embeddings_to_32x "
    "mean_resizing_embeddings reinit_weights fix_untrained_tokens default_system_message "
    "streaming* preprocess_* use_tensorboard use_ray ray_* gc_* profiler_* batch_size "
    "context_length heads_k_stride ring_attn_func fsdp fsdp_version fsdp_config deepspeed "
    "attn_implementation flash_optimum max_packed_sequence_len gptq_* field* format "
    "include_tk* include_tokens* do_* bench_* generate_* generation_* "
    "experimental_skip_move_to_device "
    "sdpa_varlen flash_attn_d512 trl trl.* vllm.* revision_of_model bnb_config_kwargs* "
    "model_quantization_config_kwargs.* spectrum_* accelerator_config* "
    "torch_compile_backend torch_compile_mode torch_compile_options flex_attn_compile_kwargs* "
    "evaluation_strategy lisa_* relora_* env "
    "max_grad_norm otel_* use_otel_metrics project_* llmcompressor.* kd_* dpo_* "
    "rl_beta rl_coef rpo_alpha "
    "use_bias_correction_kl use_data_producer use_orig_params use_vllm use_whitening "
    "tokenizer_legacy train_attn train_mlp train_unembed full_finetune beta1 beta2 "
    "scaling_softmax* neftune* "
    "quantization.* version pretrain_* embedding_lr* "
    "center_rewards_coefficient label_smoothing load_in_8bit load_in_4bit gradient_accumulation* "
    "noisy_embedding_alpha tiled_mlp_* expert_parallel_*";

constexpr auto kFactoryUnpriced = std::to_array<UnpricedKey>({
    {"use_unsloth", "kernels and checkpoints of Unsloth, which are not known here"},
    {"shift_attn", "attention within shifted groups"},
    {"mixture_of_depths", "layers that some tokens alone go through", ""},
    {"use_galore", "gradients of low rank, whose states are small"},
    {"use_apollo", "gradients of low rank, whose states are small"},
    {"use_badam", "the optimizer takes some blocks at a time"},
    {"use_adam_mini", "second moments of blocks, which are small"},
    {"use_llama_pro", "new layers alone are trained"},
    {"use_dora", "weights are split into length and direction, which is more work"},
    {"use_dft_loss", "another loss"},
    {"use_asft_loss", "another loss, with a second model"},
    {"use_eaft_loss", "another loss"},
    {"quantization_method", "another way of quantised weights", "bnb"},
    {"upcast_layernorm", "norms in fp32"},
    {"upcast_lmhead_output", "logits in fp32 as soon as they are made"},
    {"fp8", "products in 8 bits by a library of its own; here in 16"},
    {"use_kt", "experts are computed by the host"},
    {"use_v1_kernels", "kernels of its own"},
    {"use_hyper_parallel", "a library of its own divides the model"},
    {"resize_vocab", "a larger vocabulary, by the tokenizer"},
    {"block_diag_attn", "attention within documents"},
});
constexpr std::string_view kFactoryWithoutEffect =
    "adapter_name_or_path adapter_folder cache_dir use_fast_tokenizer split_special_tokens "
    "add_tokens add_special_tokens new_special_tokens_config init_special_tokens model_revision "
    "low_cpu_mem_usage rope_scaling moe_aux_loss_coef use_reentrant_gc train_from_scratch infer_* "
    "offload_folder use_kv_cache hf_hub_token ms_hub_token om_hub_token print_param_status "
    "trust_remote_code quantization_* double_quantization image_* video_* crop_to_patches "
    "use_audio_in_video audio_* export_* vllm_* sglang_* compute_dtype device_map freeze_* "
    "additional_target lora_alpha lora_dropout lora_rank lora_target loraplus_* use_rslora "
    "pissa_* create_new_adapter module_dropout oft_* pref_* dpo_* kto_* simpo_* ppo_* ref_model* "
    "reward_model* ld_alpha galore_* apollo_* badam_* asft_alpha eaft_alpha use_swanlab swanlab_* "
    "compute_accuracy disable_shuffling early_stopping_steps plot_loss include_effective_tokens_* "
    "template dataset dataset_dir eval_dataset media_dir train_on_prompt mask_history streaming "
    "buffer_size mix_strategy interleave_probs overwrite_cache preprocessing_* max_samples "
    "eval_num_beams ignore_pad_token_for_loss val_size eval_on_each_dataset tool_format "
    "default_system enable_thinking preserve_thinking tokenized_path data_shared_file_system "
    "ray_* resources_per_worker placement_strategy master_addr master_port enable_torch_profiler "
    "profiler_* profile_modules fp8_* do_sample temperature top_p top_k num_beams max_new_tokens "
    "repetition_penalty length_penalty skip_special_tokens kt_* hyper_parallel_* visual_inputs "
    "reserved_label_len max_source_length max_target_length flash_attn report_to "
    "use_modelscope_hub "
    "use_mca use_megatron_bridge enable_liger_kernel packing";

}  // namespace

void leave_out_axolotl_keys(FrameworkReader& settings) {
  refuse_changed_model(settings, "overrides_of_model_config.");
  refuse_changed_model(settings, "model_config.");
  settings.not_carried(kAxolotlUnpriced);
  settings.without_effect(kAxolotlWithoutEffect);
  settings.also_known(kAxolotlWithoutEffect);
}

void leave_out_llamafactory_keys(FrameworkReader& settings) {
  settings.not_carried(kFactoryUnpriced);
  settings.without_effect(kFactoryWithoutEffect);
  settings.also_known(kFactoryWithoutEffect);
}

}  // namespace stepcast
