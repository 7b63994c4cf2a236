// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_writer.hpp"

#include "frameworks/moe_layer_pattern.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/config_yaml.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

void set_flag(MegatronFieldWriter& out, std::string_view name, bool on) {
  on ? out.on(name) : out.off(name);
}

void on_if(MegatronFieldWriter& out, std::string_view name, bool on) {
  if (on) {
    out.on(name);
  }
}

// The switches of an experiment's software as Megatron's fields.
class SoftwareFieldWriter {
 public:
  SoftwareFieldWriter(const Experiment& experiment, const ParallelPlan& plan,
                      MegatronDialect dialect)
      : software_(experiment.software),
        experiment_(experiment),
        plan_(plan),
        primus_(dialect == MegatronDialect::kPrimus),
        bridge_(dialect == MegatronDialect::kBridge) {}

  std::vector<Setting> fields() {
    write_kernels();
    if (experiment_.model.moe) {
      write_experts();
    }
    write_overlap();
    write_states();
    return out_.take();
  }

 private:
  void write_kernels() {
    const bool fused = software_.cross_entropy != Implementation::kEager;
    on_if(out_, "cross_entropy_loss_fusion", fused);
    if (software_.cross_entropy == Implementation::kFused) {
      out_.text("cross_entropy_fusion_impl", "te");
    }
    const Dtype dtype = experiment_.training.dtype;
    on_if(out_, "fp8_dot_product_attention", software_.attends_in_8_bits(dtype));
    on_if(out_, "fp8_output_proj", software_.ends_in_8_bits(dtype));
    if (!software_.accumulates_in_gemm || plan_.zero == 3) {
      out_.off("gradient_accumulation_fusion");
    }
    on_if(out_, "enable_experimental",
          experiment_.model.attention.kind == AttentionKind::kMla &&
              software_.rope == Implementation::kFused);
    if (!primus_) {
      write_attention();
    } else if (software_.attention_kernel() == AttentionKernel::kAiter) {
      out_.on("enable_primus_turbo");
      out_.on("use_turbo_attention");
    }
    if (software_.cuda_graph) {
      const bool whole = software_.cuda_graph_scope == CudaGraphScope::kWhole;
      out_.text("cuda_graph_impl", whole ? "local" : "transformer_engine");
    }
    if (software_.vocabulary_multiple != 128) {
      out_.count("make_vocab_size_divisible_by", software_.vocabulary_multiple);
    }
  }

  // What the software asked for, not what a library takes instead.
  void write_attention() {
    switch (software_.attention) {
      case AttentionKernel::kFlash2:
        out_.text("attention_backend", "flash");
        break;
      case AttentionKernel::kUnfused:
        out_.text("attention_backend", "unfused");
        break;
      default:
        break;  // Transformer Engine chooses
    }
  }

  void write_experts() {
    const Dispatcher dispatcher = plan_.exchange.dispatcher;
    const bool library = dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
    if (library && primus_ && dispatcher == Dispatcher::kDeepEp) {
      out_.on("enable_primus_turbo");
      out_.on("use_turbo_deepep");
    } else if (library) {
      out_.text("moe_token_dispatcher_type", "flex");
      out_.text("moe_flex_dispatcher_backend", std::string(name(dispatcher)));
    } else {
      out_.text("moe_token_dispatcher_type", std::string(name(dispatcher)));
    }
    if (primus_ && software_.grouped_gemm == GroupedGemmMode::kTurbo) {
      out_.on("enable_primus_turbo");
      out_.on("use_turbo_grouped_gemm");
    }
    on_if(out_, "moe_grouped_gemm", software_.grouped_gemm != GroupedGemmMode::kLegacy || primus_);
    on_if(out_, "moe_use_legacy_grouped_gemm",
          primus_ && software_.grouped_gemm == GroupedGemmMode::kLegacy);
    flag_where("moe_permute_fusion", software_.permute == Implementation::kFused);
    flag_where("moe_shared_expert_overlap", software_.shared_expert_overlap);
    on_if(out_, "overlap_moe_expert_parallel_comm", software_.ep_overlap);
    on_if(out_, "delay_wgrad_compute", software_.ep_overlap && software_.delays_weight_gradients);
    write_exchange(library);
  }

  void flag_where(std::string_view name, bool on) {
    if (on || primus_ || bridge_) {
      set_flag(out_, name, on);
    }
  }

  void write_exchange(bool library) {
    const ExchangeSpec& exchange = plan_.exchange;
    if (exchange.capacity_factor) {
      out_.text("moe_expert_capacity_factor", to_flow_yaml(scalar_node(*exchange.capacity_factor)));
    }
    if (library && exchange.compute_units > 0) {
      out_.count(primus_ ? "turbo_deepep_num_cu" : "moe_flex_dispatcher_num_sms",
                 exchange.compute_units);
    }
    if (!exchange.routing) {
      return;
    }
    const bool forced = exchange.routing->kind == RoutingKind::kRoundRobinForced;
    if ((primus_ && forced) || (!primus_ && exchange.routing->kind == RoutingKind::kUniform)) {
      out_.on("moe_router_force_load_balancing");
    }
  }

  void write_overlap() {
    if (plan_.tp > 1) {
      on_if(out_, "tp_comm_overlap", software_.async_tp);
    }
    if (plan_.zero < 3) {
      on_if(out_, "overlap_grad_reduce", software_.overlap_grad_reduce);
      on_if(out_, "overlap_param_gather",
            software_.overlap_param_gather && plan_.zero >= 1 && software_.overlap_grad_reduce);
    } else {
      out_.on("overlap_grad_reduce");
    }
  }

  void write_states() {
    on_if(out_, "grad_reduce_in_bf16", software_.gradient_reduce == Bytes(2));
    const bool said = experiment_.training.optimizer != OptimizerSpec{};
    if (software_.states.optimizer == Bytes(8) && !said) {
      out_.on("use_precision_aware_optimizer");
      out_.text("exp_avg_dtype", "bf16");
      out_.text("exp_avg_sq_dtype", "bf16");
    }
    if (software_.memory.optimizer_on_host && !said) {
      out_.on("optimizer_cpu_offload");
    }
  }

  const SoftwareSpec& software_;
  const Experiment& experiment_;
  const ParallelPlan& plan_;
  bool primus_;
  bool bridge_;
  MegatronFieldWriter out_;
};

void write_attention(const AttentionSpec& attention, MegatronDialect dialect,
                     MegatronFieldWriter& out) {
  if (attention.kind == AttentionKind::kSharedKv) {
    return;  // in the fields of its layers
  }
  if (attention.kind == AttentionKind::kMla) {
    out.on("multi_latent_attention");
    if (attention.mla.q_lora_rank > 0) {
      out.ours("model.attention.q_lora_rank", attention.mla.q_lora_rank);
    }
    out.ours("model.attention.kv_lora_rank", attention.mla.kv_lora_rank);
    out.ours("model.attention.qk_nope_head_dim", attention.mla.qk_nope_head_dim);
    out.ours("model.attention.qk_rope_head_dim", attention.mla.qk_rope_head_dim);
    out.ours("model.attention.v_head_dim", attention.v_head_dim);
    out.on("qk_layernorm");
    return;
  }
  if (attention.kv_heads != attention.heads) {
    on_if(out, "group_query_attention", dialect != MegatronDialect::kBridge);
    out.ours("model.attention.kv_heads", attention.kv_heads);
  }
  out.ours("model.attention.head_dim", attention.qk_head_dim);
  on_if(out, "qk_layernorm", attention.qk_norm == QkNorm::kHead);
  on_if(out, "attention_output_gate", attention.output_gate);
  if (attention.sinks) {
    out.text("softmax_type", "learnable");
  }
  if (attention.sliding_window > 0) {
    out.text("window_size", std::to_string(attention.sliding_window - 1) + ",0");
    if (attention.full_attention_every > 0) {
      out.count("window_attn_skip_freq", attention.full_attention_every);
    }
  }
}

void write_experts(const ModelSpec& model, MegatronFieldWriter& out) {
  const MoeSpec& moe = *model.moe;
  out.ours("model.moe.experts", moe.experts);
  out.ours("model.moe.experts_per_token", moe.experts_per_token);
  out.ours("model.moe.expert_ffn_hidden", moe.expert_ffn_hidden);
  if (moe.latent_hidden > 0) {
    const bool of_kimi = primus_alone(model).has_value();
    out.count(of_kimi ? "routed_expert_hidden_size" : "moe_latent_size", moe.latent_hidden);
  }
  if (moe.shared_expert_ffn_hidden > 0) {
    out.count("moe_shared_expert_intermediate_size", moe.shared_expert_ffn_hidden);
    on_if(out, "moe_shared_expert_gate", moe.shared_expert_gate);
  }
  if (const std::string places = moe_layer_text(moe, model.layers); !places.empty()) {
    out.text("moe_layer_freq", places);
  }
  if (moe.router.score == RouterScore::kSigmoid) {
    out.text("moe_router_score_function", "sigmoid");
  } else if (moe.router.score == RouterScore::kSqrtSoftplus) {
    out.text("moe_router_score_function", "sqrtsoftplus");
  }
  if (moe.router.groups > 1) {
    out.count("moe_router_num_groups", moe.router.groups);
    out.count("moe_router_group_topk", moe.router.topk_groups);
  }
  on_if(out, "moe_router_enable_expert_bias", moe.router.expert_bias);
}

void write_biases(const ModelSpec& model, MegatronDialect dialect, MegatronFieldWriter& out) {
  const AttentionSpec& attention = model.attention;
  const bool inner = model.mlp.bias || (model.moe && model.moe->expert_bias);
  const bool all = inner && attention.qkv_bias && attention.output_bias;
  if (!all || dialect != MegatronDialect::kMegatron) {
    set_flag(out, "add_bias_linear", all);
    on_if(out, "add_qkv_bias", attention.qkv_bias && !all);
  }
}

// PyTorch's FSDP, where it runs: no pipeline, no experts over ranks, no groups that repeat.
bool runs_fsdp2(const Experiment& experiment, const ParallelPlan& plan) {
  return plan.pp == 1 && plan.ep == 1 && plan.fsdp == plan.replicas() &&
         !experiment.model.tied_embeddings && experiment.training.dtype != Dtype::kFp16;
}

void write_sharding(const Experiment& experiment, const ParallelPlan& plan,
                    const FrameworkWords& words, MegatronDialect dialect,
                    MegatronFieldWriter& out) {
  const std::int64_t zero = experiment.plan.zero.value_or(plan.zero);
  if (plan.zero == 3 && dialect == MegatronDialect::kPrimus && runs_fsdp2(experiment, plan)) {
    out.on("use_torch_fsdp2");
    on_if(out, "torch_fsdp2_no_reshard_after_forward", !plan.fsdp_reshard);
    out.off("use_distributed_optimizer");
    return;
  }
  const bool sharded = plan.zero >= 2;
  const bool distributed = sharded || zero == 1 || plan.zero == 1;
  if (sharded) {
    out.on("use_megatron_fsdp");
    out.text("data_parallel_sharding_strategy",
             words.theirs_of("data_parallel_sharding_strategy", std::to_string(plan.zero)));
  }
  if (distributed) {
    out.on("use_distributed_optimizer");
  } else if (dialect != MegatronDialect::kMegatron) {
    out.off("use_distributed_optimizer");
  }
  const bool groups = plan.fsdp > 1 && plan.fsdp < plan.replicas();
  if (groups) {
    out.count("num_distributed_optimizer_instances", plan.replicas() / plan.fsdp);
  }
}

void write_context(const ParallelPlan& plan, const FrameworkWords& words, MegatronDialect dialect,
                   MegatronFieldWriter& out) {
  if (plan.cp == 1) {
    return;
  }
  out.ours("plan.cp", plan.cp);
  if (plan.cp_algorithm != CpAlgorithm::kRing) {
    out.text("cp_comm_type", words.theirs_of("cp_comm_type", name(plan.cp_algorithm)));
  }
  if (plan.cp_algorithm == CpAlgorithm::kAllToAllRing) {
    const bool list = dialect == MegatronDialect::kBridge;
    const std::string sizes =
        std::to_string(plan.cp_heads()) + (list ? "," : " ") + std::to_string(plan.cp_sequence());
    out.text("hierarchical_context_parallel_sizes", list ? "[" + sizes + "]" : sizes);
  }
}

void write_stages(const Experiment& experiment, const ParallelPlan& plan,
                  MegatronFieldWriter& out) {
  const std::int64_t layers = experiment.model.layers;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  const bool plain = experiment.plan.layout.empty() && experiment.plan.stage_layers.empty();
  if (plan.pp == 1 || plain) {
    if (plan.vpp > 1) {
      out.count("num_virtual_stages_per_pipeline_rank", plan.vpp);
    }
    return;
  }
  if (experiment.plan.layout == "balanced" && stages > 0 && (layers + 2) % stages == 0 &&
      experiment.model.mtp_layers == 0) {
    out.on("account_for_embedding_in_pipeline_split");
    out.on("account_for_loss_in_pipeline_split");
    if (plan.vpp > 1) {
      out.count("num_virtual_stages_per_pipeline_rank", plan.vpp);
    }
    return;
  }
  const bool text = !experiment.plan.layout.empty() && experiment.plan.layout != "balanced";
  out.text("pipeline_model_parallel_layout",
           text ? experiment.plan.layout : layout_text(plan.stages));
}

void write_recompute(const RecomputeSpec& recompute, MegatronFieldWriter& out) {
  if (recompute.kind == RecomputeKind::kFull && recompute.layer_list.empty()) {
    out.text("recompute_granularity", "full");
    out.text("recompute_method", std::string(name(recompute.method)));
    out.ours("training.recompute_layers", recompute.layers);
  } else if (recompute.kind == RecomputeKind::kSelective) {
    constexpr ModuleSet kNotOfMegatron = {RecomputeModule::kMlpActivation, RecomputeModule::kQkNorm,
                                          RecomputeModule::kMoeDispatch};
    std::string modules;
    for (const RecomputeModule module : recompute.modules) {
      if (!kNotOfMegatron.meets({module})) {
        modules += (modules.empty() ? "" : " ") + std::string(name(module));
      }
    }
    out.text("recompute_granularity", "selective");
    if (!modules.empty()) {
      out.text("recompute_modules", modules);
    }
  }
}

}  // namespace

std::vector<Setting> megatron_model_fields(const ModelSpec& model, MegatronDialect dialect) {
  MegatronFieldWriter out;
  out.ours("model.layers", model.layers);
  out.ours("model.hidden_size", model.hidden);
  out.ours("model.mlp.ffn_hidden", model.mlp.ffn_hidden);
  out.ours("model.attention.heads", model.attention.heads);
  write_attention(model.attention, dialect, out);
  write_megatron_mixers(model, out);
  const bool learned = model.positions == Positions::kLearned;
  out.text("position_embedding_type", learned                               ? "learned_absolute"
                                      : model.positions == Positions::kNone ? "none"
                                                                            : "rope");
  if (learned) {
    out.count("max_position_embeddings", model.max_positions);
  }
  out.text("normalization", model.norm == NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm");
  if (dialect != MegatronDialect::kMegatron) {
    set_flag(out, "swiglu", model.mlp.gated);
    set_flag(out, "untie_embeddings_and_output_weights", !model.tied_embeddings);
  } else {
    on_if(out, "swiglu", model.mlp.gated);
    on_if(out, "untie_embeddings_and_output_weights", !model.tied_embeddings);
  }
  write_biases(model, dialect, out);
  if (model.moe) {
    write_experts(model, out);
    if (model.moe->clamped_activation) {
      out.text("activation_func_clamp_value", "7.0");
    }
  }
  if (model.mtp_layers > 0) {
    out.ours("model.mtp_layers", model.mtp_layers);
  }
  out.ours("model.vocabulary", model.vocabulary);
  return out.take();
}

bool asks_for_mxfp8(const Experiment& experiment) {
  const SoftwareSpec& software = experiment.software;
  const Dtype dtype = experiment.training.dtype;
  return dtype == Dtype::kFp8 &&
         ((software.attends_in_8_bits(dtype) && software.attention_block_scaled) ||
          software.ends_in_8_bits(dtype));
}

std::vector<Setting> megatron_training_fields(const Experiment& experiment) {
  const TrainingRecipe& training = experiment.training;
  MegatronFieldWriter out;
  out.ours("training.sequence_length", training.sequence_length);
  if (experiment.model.positions != Positions::kLearned) {
    out.count("max_position_embeddings", training.sequence_length);
  }
  out.ours("training.micro_batch_size", training.micro_batch_size);
  out.ours("training.global_batch_size", training.global_batch_size);
  on_if(out, "fp16", training.dtype == Dtype::kFp16);
  on_if(out, "bf16", training.dtype != Dtype::kFp16);
  if (training.dtype == Dtype::kFp8 || training.dtype == Dtype::kFp8Block) {
    out.text("fp8", "hybrid");
    if (training.dtype == Dtype::kFp8Block) {
      out.text("fp8_recipe", "blockwise");
    } else if (asks_for_mxfp8(experiment)) {
      out.text("fp8_recipe", "mxfp8");
    }
  } else if (training.dtype == Dtype::kFp4) {
    out.text("fp4", "e2m1");
  }
  out.text("attention_dropout", training.dropout ? "0.1" : "0.0");
  out.text("hidden_dropout", training.dropout ? "0.1" : "0.0");
  write_recompute(training.recompute, out);
  write_megatron_optimizer(training.optimizer, out);
  return out.take();
}

std::vector<Setting> megatron_plan_fields(const Experiment& experiment, const ParallelPlan& plan,
                                          const FrameworkWords& words, MegatronDialect dialect) {
  MegatronFieldWriter out;
  out.ours("plan.tp", plan.tp);
  out.ours("plan.pp", plan.pp);
  write_stages(experiment, plan, out);
  write_context(plan, words, dialect, out);
  if (experiment.model.moe) {
    out.ours("plan.ep", plan.ep);
    if (plan.etp != plan.tp) {
      out.ours("plan.etp", plan.etp);
    }
  }
  if (dialect != MegatronDialect::kBridge) {
    on_if(out, "use_tp_pp_dp_mapping", text_of(plan.order) == kPipelinesWithinReplicas);
  }
  if (dialect != MegatronDialect::kMegatron && plan.tp > 1) {
    set_flag(out, "sequence_parallel", plan.sequence_parallel);
  } else {
    on_if(out, "sequence_parallel", plan.sequence_parallel);
  }
  const std::string own_schedule =
      plan.pp > 1 ? primus_schedule(plan.schedule, words) : std::string{};
  if (!own_schedule.empty()) {
    out.on("patch_primus_pipeline");
    out.text("pp_algorithm", own_schedule);
  }
  write_sharding(experiment, plan, words, dialect, out);
  return out.take();
}

std::string layout_text(const std::vector<StageContent>& stages) {
  std::string text;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageContent& stage = stages[i];
    text += i > 0 ? "|" : "";
    text += stage.embedding ? "E" : "";
    text += stage.layers == 1 ? "t" : stage.layers > 1 ? "t*" + std::to_string(stage.layers) : "";
    for (std::int64_t m = 0; m < stage.mtp_layers; ++m) {
      text += "m";
    }
    text += stage.loss ? "L" : "";
  }
  return text;
}

std::vector<Setting> megatron_software_fields(const Experiment& experiment,
                                              const ParallelPlan& plan, MegatronDialect dialect) {
  return SoftwareFieldWriter(experiment, plan, dialect).fields();
}

}  // namespace stepcast
