// SPDX-License-Identifier: Apache-2.0
// What Megatron's switches change of the software that runs, and of the exchange among experts.
// Sources: megatron/training/arguments.py, core/distributed, core/transformer/moe; of Primus:
// configs/modules/megatron/primus_turbo.yaml and primus/backends/megatron.
#include <algorithm>

#include "frameworks/megatron_core.hpp"
#include "stepcast/config/config_writer.hpp"

namespace stepcast {
namespace {

class SoftwareFields {
 public:
  SoftwareFields(const MegatronFields& fields, const ModelSpec& model,
                 const MegatronDegrees& degrees)
      : settings_(fields.settings()),
        source_(fields.source()),
        words_(fields.words()),
        model_(model),
        degrees_(degrees) {}

  ConfigNode changes() {
    read_layers();
    read_kernels();
    read_eight_bits();
    read_experts();
    read_graph();
    read_overlap();
    read_states();
    if (const auto multiple =
            settings_.count("make_vocab_size_divisible_by", "software.vocabulary_multiple")) {
      writer_.field("vocabulary_multiple", *multiple);
    }
    return writer_.take();
  }

 private:
  // Whose layers run: Transformer Engine's, or Megatron's own.
  void read_layers() {
    constexpr std::string_view kKey = "transformer_impl";
    const std::string usual = source_.own_layers ? "local" : words_.word(kKey)->usual;
    const std::string layers = settings_.text(kKey, "software").value_or(usual);
    const ConfigNode* const switches = words_.switches_of(kKey, layers);
    if (switches == nullptr) {
      settings_.error(kKey, "must be transformer_engine or local, not '" + layers + "'");
      return;
    }
    own_layers_ = layers == "local";
    ConfigNode all = *switches;
    const std::string flash = flash_kernel();
    if (ConfigEntry* const attention = all.entry("attention"); attention && !flash.empty()) {
      attention->value = scalar_node(flash);
    }
    if (activation_is_apart()) {
      std::erase_if(all.entries,
                    [](const ConfigEntry& entry) { return entry.key == "activation"; });
      writer_.field("activation", "eager");
    }
    for (const ConfigEntry& entry : all.entries) {
      writer_.field(entry.key, entry.value);
    }
    read_fusions(own_layers_ && flash.empty());
  }

  bool activation_is_apart() {
    constexpr std::string_view kSwitch = "software.activation";
    const bool of_kind =
        settings_.is_off(model_.mlp.gated ? "bias_swiglu_fusion" : "bias_gelu_fusion", kSwitch);
    const bool apart = settings_.is_off("bias_activation_fusion", kSwitch) || of_kind;
    // Kernels of Primus and Transformer Engine that come before any of them.
    const bool other = settings_.is_on("use_turbo_fused_act_with_probs", kSwitch) ||
                       settings_.is_on("use_te_activation_func", kSwitch);
    return apart && !other;
  }

  // What the layers ask for by a switch; Transformer Engine's choose by attention_backend.
  std::string flash_kernel() {
    std::string kernel = settings_.is_on("use_flash_attn", "software.attention") ? "flash2" : "";
    for (const std::string_view key : {"use_flash_attn_v1", "use_flash_attn_triton",
                                       "use_flash_attn_v2", "use_flash_attn_builder"}) {
      if (settings_.is_on(key, "software.attention")) {
        kernel = words_.ours_of(key, "true").value_or("");
      }
    }
    return kernel;
  }

  // Fusions that are switched off. With a fused attention kernel there is no softmax of one's own,
  // without dropout and biases nothing stands beside the residual sum, and Transformer Engine's
  // norms are its own.
  void read_fusions(bool unfused_attention) {
    if (unfused_attention) {
      settings_.not_carried("masked_softmax_fusion",
                            "scale, mask and softmax are kernels of their own", "true");
    }
    const double usual = source_.model_is_named ? 0.0 : 0.1;
    const double dropout = settings_.share("hidden_dropout", "training.dropout").value_or(usual);
    if (dropout > 0.0 || model_.mlp.bias || model_.attention.output_bias) {
      settings_.not_carried("bias_dropout_fusion",
                            "bias, dropout and the residual sum are kernels of their own", "true");
    }
    if (own_layers_) {
      settings_.not_carried("persist_layer_norm", "norms run in a slower kernel", "true");
    }
  }

  // What arguments say by being left out, where neither a model's recipe nor the set knows better.
  [[nodiscard]] bool by_default() const { return !source_.model_is_named && !source_.deepspeed; }

  void read_kernels() {
    const bool flash = settings_.is_on("use_flash_attn", "software.attention");
    const auto backend = settings_.text("attention_backend", "software.attention");
    if (backend || flash) {
      std::string name = backend.value_or("flash");
      name = name.starts_with("AttnBackend.") ? name.substr(12) : name;
      const std::optional<std::string> known = words_.ours_of("attention_backend", name);
      if (!known) {
        settings_.error("attention_backend",
                        "must be auto, flash, fused, unfused or local, not '" + name + "'");
      } else if (!known->empty() && backend && !own_layers_) {
        writer_.field("attention", *known);
      }
    }
    const auto fusion = settings_.flag("cross_entropy_loss_fusion", "software.cross_entropy");
    const std::string way =
        settings_.text("cross_entropy_fusion_impl", "software.cross_entropy").value_or("native");
    if (fusion || by_default() || settings_.has("cross_entropy_fusion_impl")) {
      writer_.field("cross_entropy", !fusion.value_or(false) ? "eager"
                                     : way == "te"           ? "fused"
                                                             : "compiled");
    }
    if (const auto accumulates =
            settings_.flag("gradient_accumulation_fusion", "software.accumulates_in_gemm")) {
      writer_.field("accumulates_in_gemm", *accumulates);
    }
    read_rope();
    read_turbo();
  }

  // The fused rotary embedding of latent attention is an experimental function of Megatron Core;
  // without it queries, keys and values are concatenated and made contiguous
  // (core/transformer/multi_latent_attention.py, d98e8a64).
  void read_rope() {
    const auto rope = settings_.flag("apply_rope_fusion", "software.rope");
    const bool experimental = settings_.is_on("enable_experimental", "software.rope");
    const bool apart =
        model_.attention.kind == AttentionKind::kMla && !experimental && !source_.model_is_named;
    if (apart || (rope && !*rope)) {
      writer_.field("rope", "eager");
    }
    if (apart) {
      writer_.field("attention_copies", std::int64_t{1});
      settings_.assume("software.rope", "eager",
                       "Megatron Core fuses the rotary embedding of latent attention under "
                       "--enable-experimental alone");
    }
  }

  // Primus' own kernels.
  void read_turbo() {
    const bool turbo = settings_.flag("enable_primus_turbo", "software").value_or(false);
    const bool attention = settings_.is_on("use_turbo_attention", "software.attention");
    const bool grouped = settings_.is_on("use_turbo_grouped_gemm", "software.grouped_gemm");
    const bool mlp = settings_.is_on("use_turbo_grouped_mlp", "software.grouped_gemm");
    const bool deepep = settings_.is_on("use_turbo_deepep", "plan.dispatcher");
    (void)settings_.is_on("use_turbo_rms_norm", "software.norm");
    (void)settings_.is_on("use_turbo_gemm", "software");
    const std::int64_t stage =
        settings_.count("turbo_sync_free_moe_stage", "software.host.synchronise").value_or(0);
    sync_free_ = turbo ? stage : 0;  // from 2 on it turns DeepEP and the grouped GEMM on
    turbo_deepep_ = turbo && (deepep || stage >= 2);
    if (turbo && attention) {
      writer_.field("attention", "aiter");
    } else if (turbo) {
      writer_.field("attention", "flash2");  // of Transformer Engine on ROCm
    }
    turbo_experts_ = turbo && (grouped || mlp || stage >= 2);
  }

  void read_experts() {
    const auto grouped = settings_.flag("moe_grouped_gemm", "software.grouped_gemm");
    const auto legacy = settings_.flag("moe_use_legacy_grouped_gemm", "software.grouped_gemm");
    const auto permute = settings_.flag("moe_permute_fusion", "software.permute");
    const auto shared =
        settings_.flag("moe_shared_expert_overlap", "software.shared_expert_overlap");
    const std::string dispatcher = dispatcher_name();
    if (!model_.moe) {
      settings_.without_effect("overlap_moe_expert_parallel_comm delay_wgrad_compute");
      return;
    }
    if (!dispatcher.empty()) {
      writer_.field("dispatcher", dispatcher);
    }
    if (turbo_experts_) {
      writer_.field("grouped_gemm", "turbo");
    } else if (legacy || (!grouped.value_or(source_.model_is_named))) {
      // ROCm's Transformer Engine runs one product an expert either way.
      writer_.field("grouped_gemm", "legacy");
    }
    if (permute || !source_.model_is_named || sync_free_ > 0) {
      writer_.field("permute", permute.value_or(false) || sync_free_ > 0 ? "fused" : "eager");
    }
    if (sync_free_ >= 2) {
      writer_.begin("host");
      writer_.field("synchronise", "0 us");
      writer_.end();
    }
    if (shared || !source_.model_is_named) {
      writer_.field("shared_expert_overlap", shared.value_or(false));
    }
    read_pairs();
  }

  // Products besides those of layers that run in 8 bits.
  void read_eight_bits() {
    const auto attention = settings_.flag("fp8_dot_product_attention", "software.attention_8bit");
    if (attention) {
      const bool blocks = settings_.text("fp8_recipe", "training.dtype").value_or("") == "mxfp8";
      writer_.field("attention_8bit", *attention);
      writer_.field("attention_block_scaled", *attention && blocks);
    }
    if (const auto head = settings_.flag("fp8_output_proj", "software.head_8bit")) {
      writer_.field("head_8bit", *head);
    }
  }

  // Passes that run in pairs.
  void read_pairs() {
    constexpr std::string_view kPairs = "overlap_moe_expert_parallel_comm";
    constexpr std::string_view kDelay = "delay_wgrad_compute";
    const auto pairs = settings_.flag(kPairs, "software.ep_overlap");
    const auto delay = settings_.flag(kDelay, "software.delays_weight_gradients");
    if (delay.value_or(false) && !pairs.value_or(false)) {
      settings_.error(kDelay, "needs " + std::string(kPairs));
    }
    if (pairs || !source_.model_is_named) {
      writer_.field("ep_overlap", pairs.value_or(false));
    }
    if (delay || (pairs && !source_.model_is_named)) {
      writer_.field("delays_weight_gradients", delay.value_or(false));
    }
  }

  // Megatron gathers all tokens unless it is told otherwise; flex needs a library behind it.
  std::string dispatcher_name() {
    const auto type = settings_.text("moe_token_dispatcher_type", "plan.dispatcher");
    const auto backend = settings_.text("moe_flex_dispatcher_backend", "plan.dispatcher");
    const bool old = settings_.is_on("moe_enable_deepep", "plan.dispatcher");
    if (!model_.moe) {
      return {};
    }
    if (turbo_deepep_) {
      return "deepep";
    }
    if (!type && backend) {
      return flex_name(*backend, true);
    }
    if (!type) {
      if (source_.deepspeed) {
        return "alltoall";
      }
      if (source_.model_is_named) {
        return {};
      }
      settings_.assume("plan.dispatcher", "allgather",
                       "moe_token_dispatcher_type is allgather unless it is given");
      return "allgather";
    }
    if (*type == "flex") {
      return flex_name(backend.value_or("deepep"), old || backend.has_value());
    }
    if (*type != "alltoall" && *type != "allgather" && *type != "alltoall_seq") {
      settings_.error("moe_token_dispatcher_type",
                      "must be allgather, alltoall or flex, not '" + *type + "'");
    }
    return *type == "allgather" ? "allgather" : "alltoall";
  }

  std::string flex_name(const std::string& backend, bool stated) {
    if (backend != "deepep" && backend != "hybridep") {
      settings_.error("moe_flex_dispatcher_backend",
                      "is '" + backend + "'; deepep and hybridep are priced");
    }
    if (!stated) {
      settings_.assume("plan.dispatcher", backend, "flex names no library");
    }
    return backend;
  }

  // Transformer Engine captures module by module and leaves dropless experts out.
  void read_graph() {
    std::string kind = settings_.text("cuda_graph_impl", "software.cuda_graph").value_or("none");
    const auto scope = settings_.texts("cuda_graph_scope", "software.cuda_graph_scope");
    const auto modules = settings_.texts("cuda_graph_modules", "software.cuda_graph_scope");
    if (settings_.is_on("enable_cuda_graph", "software.cuda_graph")) {
      kind = "local";
    }
    if (settings_.is_on("external_cuda_graph", "software.cuda_graph")) {
      kind = "transformer_engine";
    }
    if (kind == "none" || kind == "false") {
      if (settings_.has("cuda_graph_impl")) {
        writer_.field("cuda_graph", false);
      }
      return;
    }
    if (kind != "local" && kind != "transformer_engine" && kind != "full_iteration") {
      settings_.error("cuda_graph_impl",
                      "must be none, local, transformer_engine or "
                      "full_iteration, not '" +
                          kind + "'");
      return;
    }
    const std::vector<std::string> parts =
        scope.value_or(modules.value_or(std::vector<std::string>{}));
    const bool whole = kind == "full_iteration" ||
                       std::find(parts.begin(), parts.end(), "full_iteration") != parts.end() ||
                       (kind == "local" && parts.empty());
    writer_.field("cuda_graph", true);
    if (model_.moe) {
      writer_.field("cuda_graph_scope", whole ? "whole" : "without_experts");
    }
  }

  void read_overlap() {
    const auto reduce = settings_.flag("overlap_grad_reduce", "software.overlap_grad_reduce");
    const auto gather = settings_.flag("overlap_param_gather", "software.overlap_param_gather");
    const auto tensor = settings_.flag("tp_comm_overlap", "software.async_tp");
    if (degrees_.tp > 1 && (tensor || !source_.model_is_named)) {
      writer_.field("async_tp", tensor.value_or(false));
    }
    if (degrees_.fully_sharded) {
      return;  // FSDP overlaps by itself
    }
    if (reduce || gather || by_default()) {
      const bool reduces = reduce.value_or(source_.overlaps_gradients);
      if (!reduce && !source_.overlaps_gradients) {
        settings_.assume(
            "software.overlap_grad_reduce", "false",
            "gradients are reduced after backward unless overlap_grad_reduce is given");
      }
      writer_.field("overlap_grad_reduce", reduces);
      writer_.field("overlap_param_gather", gather.value_or(source_.overlaps_gradients));
    }
  }

  // Bytes a parameter of gradients; those of the optimizer are the recipe's.
  void read_states() {
    const bool wide =
        settings_.is_on("accumulate_allreduce_grads_in_fp32", "software.gradient_reduce");
    const auto narrow = settings_.flag("grad_reduce_in_bf16", "software.gradient_reduce");
    const auto fp32 = settings_.flag("grad_reduce_in_fp32", "software.gradient_reduce");
    const bool aware =
        settings_.is_on("use_precision_aware_optimizer", "training.optimizer.moments");
    const std::string gradient =
        settings_.text("main_grads_dtype", "software.state_bytes.gradient").value_or("fp32");
    bool sixteen = narrow.value_or(false) || (fp32.has_value() && !*fp32);
    sixteen = (sixteen || (aware && gradient == "bf16")) && !wide;
    if (degrees_.fsdp2 && source_.primus) {
      sixteen = true;  // Primus: MixedPrecisionPolicy(reduce_dtype=bf16)
    }
    if (sixteen || narrow || fp32 || wide || (by_default() && !source_.own_layers)) {
      writer_.field("gradient_reduce", sixteen ? "bf16" : "fp32");
      writer_.begin("state_bytes");
      writer_.quantity("gradient", Bytes(sixteen && !degrees_.fsdp2 ? 2.0 : 4.0));
      writer_.quantity("optimizer", Bytes(12));
      writer_.end();
    }
  }

  FrameworkReader& settings_;
  const MegatronSource& source_;
  const FrameworkWords& words_;
  const ModelSpec& model_;
  const MegatronDegrees& degrees_;
  ConfigWriter writer_;
  bool own_layers_ = false;
  std::int64_t sync_free_ = 0;
  bool turbo_deepep_ = false;
  bool turbo_experts_ = false;
};

class ExchangeFields {
 public:
  ExchangeFields(const MegatronFields& fields, const ModelSpec& model)
      : settings_(fields.settings()), source_(fields.source()), model_(model) {}

  ConfigNode changes() {
    const auto capacity =
        settings_.number("moe_expert_capacity_factor", "expert_exchange.capacity_factor");
    const std::string routing = forced_routing();
    const std::optional<std::int64_t> units = compute_units();
    const std::int64_t multiple = padding();
    ConfigWriter writer;
    if (!model_.moe) {
      return writer.take();
    }
    if (capacity && *capacity > 0.0) {
      writer.field("capacity_factor", *capacity);
    }
    if (!routing.empty()) {
      writer.field("routing", routing);
    }
    if (units) {
      writer.field("num_sms", *units);
    }
    if (multiple > 0) {
      writer.field("pad_multiple", multiple);
    }
    return writer.take();
  }

 private:
  // At random in Megatron, expert after expert in Primus. Groups limit what is random as well.
  std::string forced_routing() {
    const bool forced =
        settings_.is_on("moe_router_force_load_balancing", "expert_exchange.routing");
    const std::string type =
        settings_.text("moe_router_force_load_balancing_type", "expert_exchange.routing")
            .value_or(source_.primus ? "even" : "uniform");
    if (!forced || !model_.moe) {
      return {};
    }
    return type == "even" ? "round_robin_forced" : model_.moe->router.groups == 1 ? "uniform" : "";
  }

  // The units that the dispatcher which runs takes for itself.
  std::optional<std::int64_t> compute_units() {
    const std::string type =
        settings_.text("moe_token_dispatcher_type", "plan.dispatcher").value_or("");
    const std::string backend =
        settings_.text("moe_flex_dispatcher_backend", "plan.dispatcher").value_or("deepep");
    const bool turbo = settings_.is_on("use_turbo_deepep", "plan.dispatcher");
    const std::string_view key = "expert_exchange.num_sms";
    const auto of_flex = settings_.count("moe_flex_dispatcher_num_sms", key);
    const auto of_deepep = settings_.count("moe_deepep_num_sms", key);
    const auto of_hybridep = settings_.count("moe_hybridep_num_sms", key);
    const auto of_turbo = settings_.count("turbo_deepep_num_cu", key);
    if (turbo) {
      return of_turbo;
    }
    const auto own = backend == "hybridep" ? of_hybridep : of_deepep;
    return type != "flex" ? std::nullopt : of_flex ? of_flex : own;
  }

  // Rows that products in 8 bits need an expert's to be a multiple of (Megatron Core,
  // get_align_size_for_quantization).
  std::int64_t padding() {
    const std::string_view key = "expert_exchange.pad_multiple";
    const bool old = settings_.is_on("moe_router_padding_for_fp8", key);
    const bool padded = settings_.is_on("moe_router_padding_for_quantization", key) || old;
    const bool blocks = settings_.text("fp8_recipe", "training.dtype").value_or("") == "mxfp8";
    return !padded ? 0 : blocks ? 32 : 16;
  }

  FrameworkReader& settings_;
  const MegatronSource& source_;
  const ModelSpec& model_;
};

}  // namespace

ConfigNode read_megatron_software(const MegatronFields& fields, const ModelSpec& model,
                                  const MegatronDegrees& degrees) {
  return SoftwareFields(fields, model, degrees).changes();
}

ConfigNode read_megatron_exchange(const MegatronFields& fields, const ModelSpec& model) {
  return ExchangeFields(fields, model).changes();
}

}  // namespace stepcast
