// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/framework_keys.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr KeyMeaning kRelated = KeyMeaning::kRelated;

// By vocabulary.
constexpr std::array<std::string_view FrameworkKey::*, kFrameworkVocabularies> kNames = {
    &FrameworkKey::megatron, &FrameworkKey::torchtitan, &FrameworkKey::maxtext,
    &FrameworkKey::mlperf};

constexpr auto kKeys = std::to_array<FrameworkKey>({
    // Model.
    {"model.layers", "transformer layers", "num_layers", "model.n_layers",
     "base_num_decoder_layers", "OVERWRITTEN_NUM_LAYERS"},
    {"model.hidden_size", "width of the model", "hidden_size", "model.dim", "base_emb_dim"},
    {"model.attention.heads", "query heads", "num_attention_heads", "model.n_heads",
     "base_num_query_heads"},
    {"model.attention.kv_heads", "key and value heads", "num_query_groups", "model.n_kv_heads",
     "base_num_kv_heads"},
    {"model.attention.head_dim", "width of a head", "kv_channels", "", "head_dim"},
    {"model.mlp.ffn_hidden", "width of the dense feed-forward block", "ffn_hidden_size", "",
     "base_mlp_dim"},
    {"model.mlp.gated", "SwiGLU: three matrices", "swiglu", "", "mlp_activations", "", kRelated},
    {"model.vocabulary", "tokens of the vocabulary", "vocab_size", "model.vocab_size",
     "vocab_size"},
    {"model.tied_embeddings", "head and embedding are one matrix",
     "untie_embeddings_and_output_weights", "", "logits_via_embedding", "", kRelated},
    {"model.mtp_layers", "modules that predict further tokens", "mtp_num_layers", "",
     "mtp_num_layers"},
    {"model.moe.experts", "routed experts", "num_experts", "model.moe_args.num_experts",
     "num_experts"},
    {"model.moe.experts_per_token", "experts a token goes to", "moe_router_topk",
     "model.moe_args.top_k", "num_experts_per_tok"},
    {"model.moe.expert_ffn_hidden", "width of an expert", "moe_ffn_hidden_size",
     "model.moe_inter_dim", "base_moe_mlp_dim"},
    {"model.moe.shared_expert_ffn_hidden", "width of all shared experts together",
     "moe_shared_expert_intermediate_size", "", "shared_experts", "", kRelated},
    {"model.moe.first_dense_layers", "layers before the first with experts", "moe_layer_freq",
     "model.n_dense_layers", "first_num_dense_layers", "", kRelated},
    {"model.attention.q_lora_rank", "latent width of queries", "q_lora_rank", "model.q_lora_rank",
     "q_lora_rank"},
    {"model.attention.kv_lora_rank", "latent width of keys and values", "kv_lora_rank",
     "model.kv_lora_rank", "kv_lora_rank"},
    {"model.attention.qk_nope_head_dim", "part of a head without positions", "qk_head_dim",
     "model.qk_nope_head_dim", "qk_nope_head_dim"},
    {"model.attention.qk_rope_head_dim", "part of a head with positions", "qk_pos_emb_head_dim",
     "model.qk_rope_head_dim", "qk_rope_head_dim"},
    {"model.attention.v_head_dim", "width of a value head", "v_head_dim", "model.v_head_dim",
     "v_head_dim"},
    {"model.mixers", "which layers have linear attention", "linear_attention_freq", "", "", "",
     kRelated},
    {"model.mixers", "which layers are short convolutions", "lfm_layer_types", "", "", "",
     kRelated},
    {"model.linear_attention.heads", "value heads of linear attention", "linear_num_value_heads"},
    {"model.linear_attention.qk_heads", "its query and key heads", "linear_num_key_heads"},
    {"model.linear_attention.qk_head_dim", "width of its query and key heads",
     "linear_key_head_dim"},
    {"model.linear_attention.v_head_dim", "width of its value heads", "linear_value_head_dim"},
    {"model.linear_attention.convolution_width", "positions of its convolution",
     "linear_conv_kernel_dim"},
    {"model.convolution.width", "positions of a short convolution", "conv_L_cache"},
    {"model.attention.indexer.heads", "heads of the indexer", "dsa_indexer_n_heads"},
    {"model.attention.indexer.head_dim", "width of an index head", "dsa_indexer_head_dim"},
    {"model.attention.indexer.chosen", "keys that a query attends to", "dsa_indexer_topk"},
    {"model.attention.output_groups", "groups of heads before the output", "o_groups"},
    {"model.attention.output_lora_rank", "rank of a group's output", "o_lora_rank"},
    {"model.attention.compression.ratios", "positions of a compressed key, by layer",
     "compress_ratios", "", "", "", kRelated},
    {"model.residual_streams", "residual streams", "hc_mult"},
    {"model.residual_block", "layers between kept residuals", "attn_res_block_size"},
    {"model.moe.latent_hidden", "width that routed experts read", "moe_latent_size"},
    // Training.
    {"training.sequence_length", "tokens of a sequence", "seq_length", "training.seq_len",
     "max_target_length"},
    {"training.micro_batch_size", "sequences of a micro-batch", "micro_batch_size",
     "training.local_batch_size", "per_device_batch_size", "MICRO_BATCH_SIZE"},
    {"training.global_batch_size", "sequences of a step", "global_batch_size",
     "training.global_batch_size", "", "MINIBS"},
    {"training.dtype", "format of products", "fp8", "", "quantization", "FP8", kRelated},
    {"training.recompute", "what is computed again", "recompute_granularity",
     "activation_checkpoint.mode", "remat_policy", "", kRelated},
    {"training.recompute_method", "which layers", "recompute_method"},
    {"training.recompute_layers", "how many layers", "recompute_num_layers"},
    {"training.recompute_modules", "modules computed again", "recompute_modules", "", "",
     "RECOMPUTE_MODULES"},
    {"training.optimizer", "optimizer", "optimizer", "optimizer.name", "opt_type", "", kRelated},
    {"training.optimizer.first_moment", "format of the first moment", "exp_avg_dtype", "",
     "mu_dtype", "", kRelated},
    {"training.optimizer.second_moment", "format of the second moment", "exp_avg_sq_dtype", "", "",
     "", kRelated},
    {"training.optimizer.master", "format of the master copy", "main_params_dtype", "", "", "",
     kRelated},
    {"training.optimizer.steps", "Newton-Schulz steps of Muon", "muon_num_ns_steps"},
    {"training.optimizer.tp_mode", "matrices of Muon that tp divides", "muon_tp_mode"},
    {"training.optimizer.qkv", "matrices of Muon for q, k and v", "muon_split_qkv", "", "", "",
     kRelated},
    {"training.optimizer.offload", "share of the optimizer on the host", "optimizer_cpu_offload",
     "", "", "", kRelated},
    // Plan.
    {"plan.tp", "tensor parallelism", "tensor_model_parallel_size",
     "parallelism.tensor_parallel_degree", "ici_tensor_parallelism", "TENSOR_MODEL_PARALLEL"},
    {"plan.pp", "pipeline parallelism", "pipeline_model_parallel_size",
     "parallelism.pipeline_parallel_degree", "dcn_pipeline_parallelism", "PIPELINE_MODEL_PARALLEL"},
    {"plan.vpp", "virtual stages of a pipeline rank", "virtual_pipeline_model_parallel_size", "",
     "", "INTERLEAVED_PIPELINE"},
    {"plan.cp", "context parallelism", "context_parallel_size",
     "parallelism.context_parallel_degree", "ici_context_parallelism", "CONTEXT_PARALLEL"},
    {"plan.ep", "expert parallelism", "expert_model_parallel_size",
     "parallelism.expert_parallel_degree", "ici_expert_parallelism", "EXPERT_PARALLEL"},
    {"plan.etp", "tensor parallelism of the experts", "expert_tensor_parallel_size",
     "parallelism.expert_tensor_parallel_degree"},
    {"plan.fsdp", "ranks that share one copy of the parameters", "",
     "parallelism.data_parallel_shard_degree", "ici_fsdp_parallelism", "", kRelated},
    {"plan.hsdp", "ranks of a sharding group", "num_distributed_optimizer_instances",
     "parallelism.data_parallel_replicate_degree", "dcn_data_parallelism", "", kRelated},
    {"plan.zero", "ZeRO stage", "use_distributed_optimizer", "", "", "", kRelated},
    {"plan.zero", "ZeRO stage of Megatron's FSDP", "data_parallel_sharding_strategy", "", "", "",
     kRelated},
    {"plan.sequence_parallel", "norms over a share of the sequence", "sequence_parallel", "", "",
     "SEQ_PARALLEL"},
    {"plan.fsdp_reshard", "gathered weights are dropped after forward", "",
     "parallelism.fsdp_reshard_after_forward", "", "", kRelated},
    {"plan.schedule", "pipeline schedule", "", "parallelism.pipeline_parallel_schedule", "", "",
     kRelated},
    {"plan.stage_layout", "layers of each stage", "pipeline_model_parallel_layout", "", "",
     "PIPELINE_LAYOUT"},
    {"plan.cp_algorithm", "how keys and values are exchanged", "cp_comm_type",
     "parallelism.context_parallel_rotate_method", "context_parallel_strategy", "", kRelated},
    {"plan.cp_all_to_all", "context-parallel ranks that exchange heads",
     "hierarchical_context_parallel_sizes", "", "", "", kRelated},
    {"plan.order", "which ranks are neighbours", "use_tp_pp_dp_mapping", "", "", "", kRelated},
    {"plan.dispatcher", "what carries tokens to their experts", "moe_token_dispatcher_type",
     "parallelism.expert_parallel_comm_backend", "", "", kRelated},
    // What a framework says of them in other quantities, or in later versions.
    {"training.sequence_length", "tokens of a context", "", "training.max_context_length"},
    {"training.micro_batch_size", "tokens of a micro-batch", "",
     "training.num_tokens_per_microbatch_per_dp_rank", "num_pipeline_microbatches", "", kRelated},
    {"training.global_batch_size", "tokens of a step", "", "training.num_tokens_per_train_step",
     "gradient_accumulation_steps", "", kRelated},
    {"plan.vpp", "layers of a virtual stage", "", "parallelism.pipeline_parallel_layers_per_stage",
     "num_layers_per_pipeline_stage", "", kRelated},
    {"plan.sequence_parallel", "norms over a share of the sequence", "",
     "parallelism.enable_sequence_parallel"},
    {"plan.dispatcher", "what carries tokens to their experts", "", "model.moe_comm_backend", "",
     "", kRelated},
    // The exchange of experts and the software.
    {"expert_exchange.capacity_factor", "rows of an expert over its mean",
     "moe_expert_capacity_factor", "", "capacity_factor"},
    {"expert_exchange.routing", "how tokens choose", "moe_router_force_load_balancing",
     "debug.moe_force_load_balance", "", "", kRelated},
    {"software.async_tp", "tensor-parallel collectives beside products", "tp_comm_overlap",
     "parallelism.enable_async_tensor_parallel", "", "TP_COMM_OVERLAP"},
    {"software.overlap_grad_reduce", "gradients are reduced beside backward", "overlap_grad_reduce",
     "", "", "OVERLAP_GRAD_REDUCE"},
    {"software.ep_overlap", "exchanges beside another micro-batch's products",
     "overlap_moe_expert_parallel_comm"},
    {"software.delays_weight_gradients", "gradients of weights beside the exchange",
     "delay_wgrad_compute"},
    {"software.attention_8bit", "attention's products are in 8 bits", "fp8_dot_product_attention",
     "", "", "FP8_DPA"},
    {"software.head_8bit", "the output matrix's products are in 8 bits", "fp8_output_proj"},
    {"software.shared_expert_overlap", "shared experts beside the exchange",
     "moe_shared_expert_overlap"},
    {"cluster.nodes", "nodes", "nnodes", "", "", "DGXNNODES"},
    {"cluster.gpus_per_node", "GPUs of a node", "nproc_per_node", "", "", "DGXNGPU"},
});

// "--tensor-model-parallel-size" and "parallelism.x" as the bare name.
std::string bare(std::string_view name) {
  std::string text(name.starts_with("--") ? name.substr(2) : name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string_view last_part(std::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

bool means(std::string_view name, const std::string& given) {
  return !name.empty() && (given == name || given == last_part(name));
}

}  // namespace

std::string_view FrameworkKey::name(FrameworkVocabulary vocabulary) const {
  return this->*kNames.at(static_cast<std::size_t>(vocabulary));
}

std::span<const FrameworkKey> framework_keys() { return kKeys; }

std::string_view framework_name(FrameworkVocabulary vocabulary, std::string_view ours) {
  const auto* const found = std::find_if(kKeys.begin(), kKeys.end(), [&](const FrameworkKey& key) {
    return key.ours == ours && !key.name(vocabulary).empty();
  });
  STEPCAST_CHECK(found != kKeys.end(), "no name in the framework for " + std::string(ours));
  return found->name(vocabulary);
}

std::string_view our_key_of(std::string_view framework_name) {
  const std::string given = bare(framework_name);
  const auto* const found = std::find_if(kKeys.begin(), kKeys.end(), [&](const FrameworkKey& key) {
    return std::any_of(kNames.begin(), kNames.end(),
                       [&](auto name) { return means(key.*name, given); });
  });
  return found == kKeys.end() ? std::string_view{} : found->ours;
}

std::string did_you_mean_ours(std::string_view word, std::string_view path) {
  const std::string_view ours = our_key_of(word);
  const std::string here = std::string(path) + ".";
  return ours.empty()
             ? ""
             : "; did you mean '" +
                   std::string(ours.starts_with(here) ? ours.substr(here.size()) : ours) + "'?";
}

}  // namespace stepcast
