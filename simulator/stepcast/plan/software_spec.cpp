// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/software_spec.hpp"

#include <array>

#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/settings.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<Bytes>, 2> kWideDtypes = {{{"fp32", Bytes(4)}, {"bf16", Bytes(2)}}};

// Of one call, or of one step.
constexpr UnitRange kHostTime{{0.0, 1000.0}, "s"};
constexpr UnitRange kOfParameter{{0.0, 64.0}, "B"};

template <typename Settings>
void host_settings(Settings& host) {
  host.choice("layers", &HostWork::layers);
  host.choice("experts", &HostWork::experts);
  host.flag("expert_regions", &HostWork::expert_regions);
  host.number("calls", &HostWork::calls, Range<double>{0.0, 100.0});
  host.flag("functional_collectives", &HostWork::functional_collectives);
  host.flag("unit_hooks", &HostWork::unit_hooks);
  host.flag("launches_block", &HostWork::launches_block);
  host.count("reads_per_exchange", &HostWork::reads_per_exchange, {0, 1'000});
  host.quantity("step", &HostWork::step, kHostTime);
  host.quantity("micro_batch", &HostWork::micro_batch, kHostTime);
  host.quantity("kernel", &HostWork::kernel, kHostTime);
  host.quantity("expert", &HostWork::expert, kHostTime);
  host.quantity("communication", &HostWork::communication, kHostTime);
  host.quantity("synchronise", &HostWork::synchronise, kHostTime);
}

// Collects the numbers among the settings of a host.
class HostNumbers {
 public:
  explicit HostNumbers(HostWork& work) : work_(&work) {}

  template <typename Member>
  void flag(std::string_view /*key*/, Member /*member*/) {}
  template <typename Member>
  void count(std::string_view /*key*/, Member /*member*/, Range<std::int64_t> /*range*/) {}
  template <typename Member>
  void choice(std::string_view /*key*/, Member /*member*/) {}
  void number(std::string_view key, double HostWork::*member, Range<double> /*range*/) {
    if (work_->*member != HostWork{}.*member) {
      numbers_.push_back({key, &(work_->*member)});
    }
  }
  void quantity(std::string_view key, Seconds HostWork::*member, const UnitRange& /*range*/) {
    if (work_->*member != HostWork{}.*member) {
      numbers_.push_back({key, &(work_->*member)});
    }
  }
  void quantity(std::string_view key, std::optional<Seconds> HostWork::*member,
                const UnitRange& /*range*/) {
    if (std::optional<Seconds>& given = work_->*member) {
      numbers_.push_back({key, &*given});
    }
  }
  std::vector<HostWorkNumber> take() { return std::move(numbers_); }

 private:
  HostWork* work_;
  std::vector<HostWorkNumber> numbers_;
};

template <typename Settings>
void state_settings(Settings& states) {
  states.quantity("parameter", &StateBytes::parameter, kOfParameter);
  states.quantity("gradient", &StateBytes::gradient, kOfParameter);
  states.quantity("optimizer", &StateBytes::optimizer, kOfParameter);
}

template <typename Settings>
void kernel_settings(Settings& software) {
  software.flag("fused_qkv", &SoftwareSpec::fused_qkv);
  software.flag("fused_gate_up", &SoftwareSpec::fused_gate_up);
  software.flag("fused_expert_gate_up", &SoftwareSpec::fused_expert_gate_up);
  software.choice("mla_k_rope", &SoftwareSpec::mla_k_rope);
  software.choice("grouped_gemm", &SoftwareSpec::grouped_gemm);
  software.choice("attention", &SoftwareSpec::attention);
  software.choice("attention_scores", &SoftwareSpec::attention_scores);
  software.flag("attention_8bit", &SoftwareSpec::attention_8bit);
  software.flag("attention_block_scaled", &SoftwareSpec::attention_block_scaled);
  software.flag("head_8bit", &SoftwareSpec::head_8bit);
  software.choice("norm", &SoftwareSpec::norm);
  software.choice("mixer_passes", &SoftwareSpec::mixer_passes);
  software.choice("sparse_attention", &SoftwareSpec::sparse_attention);
  software.choice("rope", &SoftwareSpec::rope);
  software.choice("rope_form", &SoftwareSpec::rope_form);
  software.flag("rope_in_qk_norm", &SoftwareSpec::rope_in_qk_norm);
  software.choice("ring_attention", &SoftwareSpec::ring_attention);
  software.choice("quantize", &SoftwareSpec::quantize);
  software.choice("fast_accumulation", &SoftwareSpec::fast_accumulation);
  software.flag("transposes_in_norm", &SoftwareSpec::transposes_in_norm);
  software.choice("activation", &SoftwareSpec::activation);
  software.flag("activation_in_product", &SoftwareSpec::activation_in_product);
  software.choice("expert_bias", &SoftwareSpec::expert_bias);
  software.choice("activation_clamp", &SoftwareSpec::activation_clamp);
  software.choice("row_gather", &SoftwareSpec::row_gather);
  software.choice("expert_buffer", &SoftwareSpec::expert_buffer);
  software.choice("permute", &SoftwareSpec::permute);
  software.choice("permute_order", &SoftwareSpec::permute_order);
  software.choice("weighted_sum", &SoftwareSpec::weighted_sum, kWideDtypes);
  software.flag("router_fp32", &SoftwareSpec::router_fp32);
  software.flag("compiles_shared_expert", &SoftwareSpec::compiles_shared_expert);
  software.choice("cross_entropy", &SoftwareSpec::cross_entropy);
  software.choice("optimizer", &SoftwareSpec::optimizer);
  software.choice("adapter", &SoftwareSpec::adapter);
  software.flag("adapter_fp32", &SoftwareSpec::adapter_fp32);
  software.flag("residual_in_norm", &SoftwareSpec::residual_in_norm);
  software.count("attention_copies", &SoftwareSpec::attention_copies, {0, 64});
}

template <typename Settings>
void launch_settings(Settings& software) {
  software.flag("cuda_graph", &SoftwareSpec::cuda_graph);
  software.choice("cuda_graph_scope", &SoftwareSpec::cuda_graph_scope);
  software.choice("gradient_buckets", &SoftwareSpec::gradient_buckets);
  software.choice("stack", &SoftwareSpec::stack);
  software.choice("framework", &SoftwareSpec::framework);
}

template <typename Settings>
void step_settings(Settings& software) {
  software.flag("repeats_kv_heads", &SoftwareSpec::repeats_kv_heads);
  software.flag("masks_by_tensor", &SoftwareSpec::masks_by_tensor);
  software.flag("tp_relayout", &SoftwareSpec::tp_relayout);
  software.flag("casts_expert_weights", &SoftwareSpec::casts_expert_weights);
  software.flag("slices_expert_weights", &SoftwareSpec::slices_expert_weights);
  software.flag("accumulates_in_gemm", &SoftwareSpec::accumulates_in_gemm);
  software.flag("clips_gradients", &SoftwareSpec::clips_gradients);
  software.flag("scales_gradients", &SoftwareSpec::scales_gradients);
  software.flag("norms_on_host", &SoftwareSpec::norms_on_host);
  software.flag("checks_gradients", &SoftwareSpec::checks_gradients);
  software.flag("async_tp", &SoftwareSpec::async_tp);
  software.flag("scatters_pipeline_sends", &SoftwareSpec::scatters_pipeline_sends);
  software.choice("pipeline_transfers", &SoftwareSpec::pipeline_transfers);
  software.flag("overlap_grad_reduce", &SoftwareSpec::overlap_grad_reduce);
  software.flag("zero_broadcasts", &SoftwareSpec::zero_broadcasts);
  software.flag("zero_all_reduces", &SoftwareSpec::zero_all_reduces);
  software.flag("overlap_param_gather", &SoftwareSpec::overlap_param_gather);
  software.choice("fsdp_overlap", &SoftwareSpec::fsdp_overlap);
  software.flag("shared_expert_overlap", &SoftwareSpec::shared_expert_overlap);
  software.flag("ep_overlap", &SoftwareSpec::ep_overlap);
  software.flag("delays_weight_gradients", &SoftwareSpec::delays_weight_gradients);
  software.choice("mixed_precision", &SoftwareSpec::mixed_precision);
  software.choice("autocast", &SoftwareSpec::autocast);
  software.flag("returns_fp32_logits", &SoftwareSpec::returns_fp32_logits);
  software.flag("fsdp_root_holds_ends", &SoftwareSpec::fsdp_root_holds_ends);
  software.flag("fsdp_wraps_lone_experts", &SoftwareSpec::fsdp_wraps_lone_experts);
  software.inside("host", &SoftwareSpec::host, [](auto& host) { host_settings(host); });
  software.flag("keeps_norm_output", &SoftwareSpec::keeps_norm_output);
  software.flag("keeps_gathered_norm_output", &SoftwareSpec::keeps_gathered_norm_output);
  software.flag("keeps_activation_product", &SoftwareSpec::keeps_activation_product);
  software.flag("keeps_quantized_inputs", &SoftwareSpec::keeps_quantized_inputs);
  software.flag("fsdp_parameters_fp32", &SoftwareSpec::fsdp_parameters_fp32);
  software.choice("fsdp_layout", &SoftwareSpec::fsdp_layout);
  software.flag("fsdp_gathers_for_recompute", &SoftwareSpec::fsdp_gathers_for_recompute);
  software.count("vocabulary_multiple", &SoftwareSpec::vocabulary_multiple, {1, 65'536});
}

constexpr Range<std::int64_t> kChunks{1, 4096};
// Of each value, and of all that a library holds.
constexpr UnitRange kOfValue{{0.0, 1024.0}, "B"};
constexpr UnitRange kHeld{{0.0, 1e6}, "GB"};

template <typename Settings>
void loss_settings(Settings& memory) {
  memory.quantity("logit_at_loss", &MemoryRules::logit_at_loss, kOfValue);
  memory.quantity("logit_at_eager_loss", &MemoryRules::logit_at_eager_loss, kOfValue);
  memory.quantity("logit_at_compiled_loss", &MemoryRules::logit_at_compiled_loss, kOfValue);
  memory.quantity("logit_at_fused_loss", &MemoryRules::logit_at_fused_loss, kOfValue);
  memory.quantity("logit_at_head", &MemoryRules::logit_at_head, kOfValue);
  memory.quantity("logit_at_parallel_loss", &MemoryRules::logit_at_parallel_loss, kOfValue);
  memory.quantity("logit_at_eager_parallel_loss", &MemoryRules::logit_at_eager_parallel_loss,
                  kOfValue);
  memory.count("loss_chunks", &MemoryRules::loss_chunks, kChunks);
  memory.flag("keeps_logits", &MemoryRules::keeps_logits);
}

template <typename Settings>
void memory_settings(Settings& memory) {
  loss_settings(memory);
  memory.flag("gradients_stay", &MemoryRules::gradients_stay);
  memory.quantity("gradient_copy", &MemoryRules::gradient_copy, kOfValue);
  memory.quantity("replica_buckets", &MemoryRules::replica_buckets, kOfValue);
  memory.quantity("dummy_gradients", &MemoryRules::dummy_gradients, kOfValue);
  memory.quantity("gathered_copy", &MemoryRules::gathered_copy, kOfValue);
  memory.number("static_rows", &MemoryRules::static_rows, kFraction);
  memory.flag("scans_layers", &MemoryRules::scans_layers);
  memory.quantity("stacked_copies", &MemoryRules::stacked_copies, kOfValue);
  memory.quantity("stacked_expert_copies", &MemoryRules::stacked_expert_copies, kOfValue);
  memory.flag("optimizer_on_host", &MemoryRules::optimizer_on_host);
  memory.flag("root_holds_ends", &MemoryRules::root_holds_ends);
  memory.flag("keeps_expert_casts", &MemoryRules::keeps_expert_casts);
  memory.flag("receives_ahead", &MemoryRules::receives_ahead);
  memory.flag("keeps_norm_copies", &MemoryRules::keeps_norm_copies);
  memory.flag("keeps_projected_qkv", &MemoryRules::keeps_projected_qkv);
  memory.flag("weighs_in_activation", &MemoryRules::weighs_in_activation);
  memory.quantity("activation_input", &MemoryRules::activation_input, kOfValue);
  memory.quantity("attention_output", &MemoryRules::attention_output, kOfValue);
  memory.flag("values_keep_projection", &MemoryRules::values_keep_projection);
  memory.flag("keeps_unread_outputs", &MemoryRules::keeps_unread_outputs);
  memory.flag("recompute_stops_early", &MemoryRules::recompute_stops_early);
  memory.flag("selective_keeps_exchanges", &MemoryRules::selective_keeps_exchanges);
  memory.number("fragmentation", &MemoryRules::fragmentation, kFraction);
  memory.number("fragmentation_recomputed", &MemoryRules::fragmentation_recomputed, kFraction);
  memory.quantity("context", &MemoryRules::context, kHeld);
  memory.quantity("communicator", &MemoryRules::communicator, kHeld);
  memory.number("pool_share", &MemoryRules::pool_share, kFraction);
  memory.flag("expandable_segments", &MemoryRules::expandable_segments);
}

// Of precision and memory, which software sets state behind the exchange.
template <typename Settings>
void precision_settings(Settings& software) {
  software.choice("frozen_weights", &SoftwareSpec::frozen_weights);
  software.inside("state_bytes", &SoftwareSpec::states,
                  [](auto& states) { state_settings(states); });
  software.choice("gradient_reduce", &SoftwareSpec::gradient_reduce, kWideDtypes);
  software.inside("memory", &SoftwareSpec::memory, [](auto& memory) { memory_settings(memory); });
}

// A library by its name, or with its releases: {name: transformer_engine, version: 2.9, cudnn:
// 9.13.1}. Another library than before has the newest releases unless it states them.
void read_attention_library(MappingReader& reader, AttentionSoftware& software) {
  std::optional<MappingReader> mapping = reader.optional_mapping("attention_library");
  if (!mapping) {
    return;
  }
  const AttentionLibraryName before = software.library;
  software.library = mapping->optional_choice<AttentionLibraryName>(
      "name", enum_names<AttentionLibraryName>(), before);
  if (software.library != before) {
    software.version.reset();
    software.cudnn.reset();
  }
  const auto read = [&mapping](std::string_view key, std::optional<Release>& release) {
    if (const std::optional<Release> given = read_release(*mapping, key)) {
      release = given;
    }
  };
  read("version", software.version);
  read("cudnn", software.cudnn);
  mapping->finish();
}

ConfigNode written_changes(const AttentionSoftware& software, const AttentionSoftware& base) {
  ConfigWriter writer;
  if (software != base) {
    writer.field("name",
                 names_of<AttentionLibraryName>()[static_cast<std::size_t>(software.library)]);
    if (software.version) {
      writer.field("version", text_of(*software.version));
    }
    if (software.cudnn) {
      writer.field("cudnn", text_of(*software.cudnn));
    }
  }
  return writer.take();
}

// 'deepep: true' is short for 'dispatcher: deepep'.
void read_exchange_switches(MappingReader& reader, ExchangeSpec& exchange) {
  const std::optional<Dispatcher> dispatcher = read_dispatcher(reader);
  const bool was = exchange.dispatcher == Dispatcher::kDeepEp;
  const bool deepep = reader.optional_flag("deepep").value_or(was);
  if (dispatcher && reader.has("deepep") && deepep != (*dispatcher == Dispatcher::kDeepEp)) {
    reader.error("deepep", "contradicts dispatcher: " + std::string(name(*dispatcher)) +
                               "; leave one of them out");
  }
  if (dispatcher) {
    exchange.dispatcher = *dispatcher;
  } else if (deepep != was) {
    exchange.dispatcher = deepep ? Dispatcher::kDeepEp : Dispatcher::kAllToAll;
  }
  if (std::optional<MappingReader> mapping = reader.optional_mapping("expert_exchange")) {
    read_exchange(std::move(*mapping), exchange);
  }
}

}  // namespace

void read_software_switches(MappingReader& reader, SoftwareSpec& software) {
  SettingReader settings(reader, software);
  kernel_settings(settings);
  launch_settings(settings);
  step_settings(settings);
  read_attention_library(reader, software.attention_library);
  read_exchange_switches(reader, software.exchange);
  precision_settings(settings);
}

bool trains_in_fp32(MixedPrecision rule, const ParameterSplit& split) {
  switch (rule) {
    case MixedPrecision::kAlways:
      return false;
    case MixedPrecision::kSharded:
      return !split.sharded;
    case MixedPrecision::kShardedOrWhole:
      return !split.sharded && !split.whole;
    case MixedPrecision::kShardedOrReplicated:
      return !split.sharded && !split.replicated && !split.whole;
  }
  return false;
}

void train_in_16_bits(SoftwareSpec& software) {
  software.autocast = Autocast::kNone;
  software.fsdp_parameters_fp32 = false;
  software.gradient_reduce = kSixteenBits;
  software.states = {kSixteenBits, kSixteenBits, 2.0 * kSixteenBits};
}

std::vector<HostWorkNumber> numbers_of(HostWork& work) {
  HostNumbers numbers(work);
  host_settings(numbers);
  return numbers.take();
}

ConfigNode written_changes(const SoftwareSpec& software, const SoftwareSpec& base) {
  ConfigWriter writer;
  SettingWriter settings(writer, software, base);
  kernel_settings(settings);
  launch_settings(settings);
  step_settings(settings);
  if (software.exchange.dispatcher != base.exchange.dispatcher) {
    writer.field("dispatcher", name(software.exchange.dispatcher));
  }
  const auto add = [&writer](std::string_view key, ConfigNode changes) {
    if (!changes.entries.empty()) {
      writer.field(key, std::move(changes));
    }
  };
  add("attention_library", written_changes(software.attention_library, base.attention_library));
  add("expert_exchange", written_changes(software.exchange, base.exchange));
  precision_settings(settings);
  return writer.take();
}

}  // namespace stepcast
