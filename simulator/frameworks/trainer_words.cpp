// SPDX-License-Identifier: Apache-2.0
// Source: TrainingArguments of transformers 4.40 to 5 (training_args.py), SFTConfig,
// ScriptArguments and ModelConfig of TRL 0.9 to 0.29.
#include "frameworks/trainer_words.hpp"

#include <array>

namespace stepcast {
namespace {

constexpr auto kTrainerUnpriced = std::to_array<UnpricedKey>({
    {"torch_compile", "generated kernels; here eager ones"},
    // Either turns it on (training_args.py, __post_init__).
    {"torch_compile_backend", "generated kernels; here eager ones", ""},
    {"torch_compile_mode", "generated kernels; here eager ones", ""},
    {"use_unsloth", "kernels and checkpoints of Unsloth, which are not known here"},
    {"use_cpu", "trains on the host"},
    {"no_cuda", "trains on the host"},
    {"full_determinism", "deterministic kernels, which are slower"},
    {"auto_find_batch_size", "the batch shrinks until it fits; here it stays"},
    {"include_num_input_tokens_seen", "tokens are counted over all ranks each step", "no"},
    {"split_batches", "a batch is that of all ranks together"},
    {"neftune_noise_alpha", "noise on embeddings, which is a few operators", "0"},
    {"sharded_ddp", "FairScale's sharding, which is not known here", ""},
    {"label_smoothing_factor", "another loss", "0.0"},
    {"group_by_length", "samples of like length in a batch"},
    {"pad_to_multiple_of", "sequences are padded to a multiple of it", "0"},
    {"torch_empty_cache_steps", "memory is handed back every few steps", "0"},
    {"jit_mode_eval", "another mode of evaluation"},
    {"model_init_kwargs.quantization_config", "weights in fewer bits", ""},
    {"lora_target_parameters", "adapters of experts' weights; here they are frozen", ""},
    {"use_dora", "weights are split into length and direction, which is more work"},
    {"q_galore", "gradients of low rank"},
    {"optim_target_modules", "the optimizer of some modules alone", ""},
    {"freeze_vision_tower", "vision encoders are not priced", ""},
    {"tune_mm_mlp_adapter", "vision encoders are not priced"},
    {"vision_tower", "vision encoders are not priced", ""},
    {"fix_vit", "vision encoders are not priced", ""},
    {"config_overrides", "another model: its configuration is changed", ""},
    {"liger_kernel_config", "some of Liger's kernels alone; here all", ""},
    {"cp_size", "ranks that divide a sequence; give parallelism_config.cp_size", "1"},
});

constexpr std::string_view kOfTrainer =
    "output_dir overwrite_output_dir do_train do_eval do_predict eval_* evaluation_strategy "
    "evaluate_during_training prediction_loss_only per_device_eval_batch_size "
    "per_gpu_eval_batch_size eval_accumulation_steps learning_rate weight_decay adam_* "
    "num_train_epochs max_steps lr_scheduler_* warmup_* log_level* log_on_each_node logging_* "
    "save_* restore_callback_states_from_checkpoint seed data_seed bf16_full_eval fp16_full_eval "
    "fp16_opt_level fp16_backend half_precision_backend tf32 local_rank ddp_* tpu_* debug "
    "dataloader_* run_name disable_tqdm remove_unused_columns label_names load_best_model_at_end "
    "metric_for_best_model greater_is_better ignore_data_skip fsdp_min_num_params "
    "fsdp_transformer_layer_cls_to_wrap accelerator_config* parallelism_config optim_args "
    "length_column_name report_to skip_memory_metrics use_legacy_prediction_loop push_to_hub* "
    "resume_from_checkpoint hub_* gradient_checkpointing_kwargs* include_* "
    "torchdynamo ray_scope batch_eval_metrics eval_on_start use_mps_device "
    "use_ipex past_index mp_parameters trackio_space_id project "
    "train_sampling_strategy enable_jit_checkpoint average_tokens_across_devices "
    "use_cache lr_scheduler predict_with_generate generation_* "
    "sortish_sampler trackio_* dispatch_batches logger trust_remote_code use_auth_token hf_token "
    "token "
    // Read where another key asks for them.
    "dtype torch_dtype attn_implementation bf16 fp16 max_grad_norm optim "
    "max_length max_seq_length model_max_length cutoff_len block_size max_seq_len seq_length "
    "max_sequence_length use_flash_attn use_flash_attention_2 fsdp_config fsdp_version";

constexpr std::string_view kOfTrl =
    "dataset_* dataset_mixture* dataset datasets datasets.* dataset_mixer* model_revision "
    "chat_template* "
    "eos_token pad_token completion_only_loss assistant_only_loss truncation_mode shuffle_dataset "
    "router_aux_loss_coef model_adapter_name ref_adapter_name num_of_sequences chars_per_token "
    "instruction_template response_template bnb_* use_bnb_nested_quant "
    "gradient_checkpointing_use_* "
    "torch_dtype_* attn_impl ignore_bias_buffers streaming test_split_size config concatenate_* "
    "report_* lora_task_type lora_alpha lora_dropout system_prompt callbacks benchmarks "
    "overwrite_hub_revision wandb_* num_proc preprocessing_num_workers max_prompt_length env "
    "model_code_revision use_fast_tokenizer tokenizer_name* tokenizer_revision add_special_tokens "
    "append_concat_token splits chat_template_format use_reentrant use_nested_quant "
    "bnb_4bit_* model_init_kwargs trackio_space_id base_model_revision "
    "auto_insert_empty_system_msg columns text_column decontaminate vllm_*";

// Arguments of scripts that people start from: Alpaca, FastChat, Qwen, LLaVA, examples of PEFT and
// of transformers.
constexpr std::string_view kOfScripts =
    "data_path eval_data_path data data_* train_file validation_file train_data valid_data "
    "train_data_path valid_data_path validation_split_percentage max_train_samples "
    "max_eval_samples overwrite_cache keep_linebreaks lazy_preprocess cache_dir is_multimodal "
    "image_folder version config_name low_cpu_mem_usage preprocess_* "
    "source_max_len target_max_len lora_weight_path lora_bias lora_path model_type template "
    "conv_template prompt_type pretrained_path tokenizer_path wandb hub push_to_hub_* "
    "instruct_* max_val_samples val_set_size lang dataset_config num_workers "
    "train_file_path conversation_template disable_group_texts truncate_source llama messages "
    "formatting tags* model_name model_id model_path base_model "
    "train_args_file use_slow_tokenizer model_max_len logdir num_epochs";

}  // namespace

void refuse_changed_model(FrameworkReader& settings, std::string_view prefix) {
  constexpr std::string_view kOfNoSize =
      "attn_implementation torch_dtype dtype use_cache rope_scaling* rope_theta trust_remote_code "
      "max_position_embeddings attention_dropout hidden_dropout revision low_cpu_mem_usage "
      "device_map initializer_range tokenizer_class token cache_dir local_files_only "
      "output_router_logits use_safetensors";
  const auto of_no_size = [&](std::string_view name) {
    return name.starts_with(prefix) && is_among(kOfNoSize, name.substr(prefix.size()));
  };
  settings.without_effect(of_no_size);
  settings.refuse_rest([&](std::string_view name) { return name.starts_with(prefix); }, "",
                       "changes the model's configuration, which is not followed; save the "
                       "config.json that it makes and name its folder as the model");
}

void leave_out_trainer_keys(FrameworkReader& settings) {
  settings.not_carried(kTrainerUnpriced);
  refuse_changed_model(settings, "model_init_kwargs.");
  settings.without_effect(kOfTrainer);
  settings.also_known(kOfTrainer);
  settings.without_effect(kOfTrl);
  settings.also_known(kOfTrl);
  settings.without_effect(kOfScripts);
}

}  // namespace stepcast
