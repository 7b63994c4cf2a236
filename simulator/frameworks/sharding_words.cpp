// SPDX-License-Identifier: Apache-2.0
// Source: deepspeedai/DeepSpeed 0.17 (runtime/config.py, runtime/zero/config.py); huggingface/
// accelerate at 16cb6eb8 (commands/launch.py, commands/config/config_args.py).
#include <array>

#include "frameworks/trainer_words.hpp"

namespace stepcast {
namespace {

constexpr auto kDeepSpeedUnpriced = std::to_array<UnpricedKey>({
    {"deepspeed.zero_optimization.zero_hpz_partition_size",
     "a second copy of weights within a node (ZeRO++)", "1"},
    {"deepspeed.zero_optimization.zero_quantized_weights", "weights are gathered in 8 bits"},
    {"deepspeed.zero_optimization.zero_quantized_gradients", "gradients are reduced in 4 bits"},
    {"deepspeed.zero_optimization.zero_quantized_nontrainable_weights",
     "frozen weights are gathered in 8 bits"},
    {"deepspeed.zero_optimization.mics_shard_size", "shards of a group of ranks (MiCS)", "-1"},
    {"deepspeed.zero_optimization.memory_efficient_linear", "a linear layer that keeps less",
     "true"},
    {"deepspeed.compile.disable", "generated kernels; here eager ones", "true"},
    {"deepspeed.compile.deepcompile", "DeepCompile moves gathers and offloads"},
    {"deepspeed.pipeline.stages", "a pipeline; Trainer has none", "1"},
    {"deepspeed.flops_profiler.enabled", "a profiler runs beside training"},
    {"deepspeed.wall_clock_breakdown", "the host waits for every phase to be timed"},
    {"deepspeed.communication_data_type", "gradients are reduced in another format", "auto"},
    {"deepspeed.data_types.grad_accum_dtype", "gradients add up in another format", "auto"},
    {"deepspeed.prescale_gradients", "gradients are scaled before they are reduced"},
    {"deepspeed.sparse_attention", "attention of a pattern", ""},
    {"deepspeed.zero_optimization.elastic_checkpoint", "checkpoints alone", ""},
    {"deepspeed.sequence_parallel_size", "ranks that divide a sequence", "1"},
    {"deepspeed.gradient_compression", "compressed gradients", ""},
    {"deepspeed.fp8.enabled", "products in 8 bits by a library of its own; here in 16"},
    {"deepspeed.torch_autocast.enabled", "DeepSpeed's own autocast"},
});
constexpr std::string_view kDeepSpeedWithoutEffect =
    // Buckets and prefetching, whose sizes the set has as Trainer sets them.
    "deepspeed.zero_optimization.reduce_bucket_size "
    "deepspeed.zero_optimization.allgather_bucket_size "
    "deepspeed.zero_optimization.allgather_partitions deepspeed.zero_optimization.reduce_scatter "
    "deepspeed.zero_optimization.contiguous_gradients deepspeed.zero_optimization.sub_group_size "
    "deepspeed.zero_optimization.stage3_* deepspeed.zero_optimization.max_* "
    "deepspeed.zero_optimization.gather_16bit_weights_on_model_save "
    "deepspeed.zero_optimization.round_robin_gradients "
    "deepspeed.zero_optimization.load_from_fp32_weights "
    "deepspeed.zero_optimization.legacy_stage1 "
    "deepspeed.zero_optimization.ignore_unused_parameters "
    "deepspeed.zero_optimization.grad_hooks deepspeed.zero_optimization.overlap_comm "
    "deepspeed.zero_optimization.offload_optimizer.* deepspeed.zero_optimization.offload_param.* "
    "deepspeed.zero_optimization.zero3_* deepspeed.zero_optimization.param_persistence_threshold "
    "deepspeed.zero_optimization.model_persistence_threshold "
    "deepspeed.zero_optimization.prefetch_bucket_size deepspeed.zero_optimization.leaf_module "
    "deepspeed.zero_optimization.use_all_reduce_for_fetch_params "
    "deepspeed.zero_optimization.cpu_offload_* deepspeed.zero_optimization.find_unused_parameters "
    "deepspeed.zero_optimization.allgather_sequential "
    "deepspeed.fp16.* deepspeed.bf16.* deepspeed.bfloat16.* deepspeed.amp.* "
    "deepspeed.optimizer.params.* deepspeed.optimizer.legacy_fusion deepspeed.scheduler.* "
    "deepspeed.optimizer.* deepspeed.optimizer deepspeed.scheduler "
    "deepspeed.gradient_clipping deepspeed.gradient_predivide_factor deepspeed.steps_per_print "
    "deepspeed.zero_allow_untested_optimizer deepspeed.zero_force_ds_cpu_optimizer "
    "deepspeed.dump_state deepspeed.memory_breakdown deepspeed.disable_allgather "
    "deepspeed.comms_logger.* deepspeed.comms_config.* deepspeed.monitor_config.* "
    "deepspeed.tensorboard.* deepspeed.wandb.* deepspeed.csv_monitor.* deepspeed.flops_profiler.* "
    "deepspeed.aio.* deepspeed.checkpoint.* deepspeed.elasticity.* deepspeed.autotuning.* "
    "deepspeed.activation_checkpointing.* deepspeed.hybrid_engine.* deepspeed.data_efficiency.* "
    "deepspeed.compile.* deepspeed.pipeline.* deepspeed.tensor_parallel.* deepspeed.nebula.* "
    "deepspeed.seq_parallel_communication_data_type deepspeed.use_node_local_storage "
    "deepspeed.load_universal deepspeed.dataloader_drop_last deepspeed._comment "
    "deepspeed.graph_harvesting deepspeed.train_batch_size deepspeed.torch_autocast.*";

constexpr auto kAccelerateUnpriced = std::to_array<UnpricedKey>({
    {"accelerate.dynamo_config.dynamo_backend", "generated kernels; here eager ones", "NO"},
    {"accelerate.dynamo_backend", "generated kernels; here eager ones", "no"},
    {"accelerate.use_cpu", "trains on the host"},
    {"accelerate.cpu", "trains on the host"},
    {"accelerate.tpu", "trains on TPUs"},
    {"accelerate.deepspeed_config.deepspeed_moe_layer_cls_names",
     "units of whole layers of experts", ""},
    {"fsdp_config.use_orig_params", "parameters lie in one flat tensor of another form", "true"},
    {"fsdp_config.mixed_precision_policy", "another policy of formats", ""},
    {"fsdp_config.cpu_offload_pin_memory", "the host's memory is not pinned", "true"},
    {"fsdp_config.ignored_modules", "modules that are not divided", ""},
    {"fsdp_config.xla", "trains with PyTorch/XLA"},
});
constexpr std::string_view kAccelerateWithoutEffect =
    "accelerate.compute_environment accelerate.debug accelerate.machine_rank accelerate.main_* "
    "accelerate.rdzv_* accelerate.same_network accelerate.tpu_* accelerate.gpu_ids "
    "accelerate.enable_cpu_affinity accelerate.command_file accelerate.commands "
    "accelerate.ipex_config* accelerate.fp8_config* accelerate.mpirun_config* accelerate.dynamo_* "
    "accelerate.deepspeed_config.* accelerate.deepspeed_* accelerate.zero3_* accelerate.role "
    "accelerate.max_restarts accelerate.monitor_interval accelerate.log_dir accelerate.tee "
    "accelerate.no_python accelerate.module accelerate.num_cpu_threads_per_process "
    "accelerate.quiet accelerate.use_parallelism_config accelerate.env accelerate.vm "
    "accelerate.megatron_lm_config* accelerate.offload_optimizer_nvme_path "
    "accelerate.offload_param_nvme_path accelerate.tpu_env "
    "accelerate.fp16 accelerate.local_rank accelerate.tpu_name accelerate.use_xpu accelerate.nodes "
    "accelerate.downcast_bf16 fsdp_config.min_num_params accelerate.job_name accelerate.multi_gpu "
    "accelerate.use_sagemaker* "
    "fsdp_config.auto_wrap_policy fsdp_config.backward_prefetch fsdp_config.forward_prefetch "
    "fsdp_config.cpu_ram_efficient_loading fsdp_config.state_dict_type "
    "fsdp_config.sync_module_states fsdp_config.transformer_layer_cls_to_wrap "
    "fsdp_config.limit_all_gathers fsdp_config.final_state_dict_type fsdp_config.cpu_ram_* "
    "fsdp_config.activation_checkpointing fsdp_config.sharding_strategy fsdp_config.version "
    "fsdp_config.reshard_after_forward fsdp_config.offload_params fsdp_config.xla_* "
    "fsdp_config.backward_prefetch_policy fsdp fsdp_version fsdp_config "
    "fsdp_config.use_torch_compile "
    "parallelism_config.sp_seq_length* parallelism_config.sp_attn_implementation "
    "parallelism_config.sp_backend parallelism_config.cp_backend parallelism_config.sp_handler "
    "parallelism_config.cp_handler";

}  // namespace

void leave_out_deepspeed_keys(FrameworkReader& settings) {
  settings.not_carried(kDeepSpeedUnpriced);
  settings.without_effect(kDeepSpeedWithoutEffect);
  settings.also_known(kDeepSpeedWithoutEffect);
}

void leave_out_accelerate_keys(FrameworkReader& settings) {
  settings.not_carried(kAccelerateUnpriced);
  settings.without_effect(kAccelerateWithoutEffect);
  settings.also_known(kAccelerateWithoutEffect);
}

}  // namespace stepcast
