// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/software_spec.hpp"

#include <array>

#include "stepcast/config/enum_fields.hpp"

namespace stepcast {
namespace {

constexpr std::array<NamedValue<GroupedGemmMode>, 3> kGroupedGemmModes = {
    {{"turbo", GroupedGemmMode::kTurbo},
     {"legacy", GroupedGemmMode::kLegacy},
     {"streams", GroupedGemmMode::kStreams}}};
constexpr std::array<NamedValue<CudaGraphScope>, 2> kCudaGraphScopes = {
    {{"whole", CudaGraphScope::kWhole}, {"without_experts", CudaGraphScope::kWithoutExperts}}};
constexpr std::array<NamedValue<Implementation>, 3> kImplementations = {
    {{"eager", Implementation::kEager},
     {"compiled", Implementation::kCompiled},
     {"fused", Implementation::kFused}}};
constexpr std::array<NamedValue<Bytes>, 2> kGradientDtypes = {
    {{"fp32", Bytes(4)}, {"bf16", Bytes(2)}}};

void read_implementation(MappingReader& reader, std::string_view key, Implementation& value) {
  value = reader.optional_choice<Implementation>(key, kImplementations, value);
}

void read_flag(MappingReader& reader, std::string_view key, bool& value) {
  value = reader.optional_flag(key, value);
}

void read_states(MappingReader& reader, SoftwareSpec& software) {
  std::optional<MappingReader> states = reader.optional_mapping("state_bytes");
  if (states) {
    software.states.parameter =
        states->optional_quantity<Bytes>("parameter", software.states.parameter);
    software.states.gradient =
        states->optional_quantity<Bytes>("gradient", software.states.gradient);
    software.states.optimizer =
        states->optional_quantity<Bytes>("optimizer", software.states.optimizer);
    states->finish();
  }
  software.gradient_reduce =
      reader.optional_choice<Bytes>("gradient_reduce", kGradientDtypes, software.gradient_reduce);
}

void read_host(MappingReader& reader, HostSpec& host) {
  if (std::optional<MappingReader> mapping = reader.optional_mapping("host")) {
    host.kernel = mapping->optional_quantity<Seconds>("kernel", host.kernel);
    host.expert = mapping->optional_quantity<Seconds>("expert", host.expert);
    host.communication = mapping->optional_quantity<Seconds>("communication", host.communication);
    host.synchronise = mapping->optional_quantity<Seconds>("synchronise", host.synchronise);
    host.step = mapping->optional_quantity<Seconds>("step", host.step);
    mapping->finish();
  }
}

// 'deepep: true' is short for 'dispatcher: deepep'.
void read_exchange_switches(MappingReader& reader, ExchangeSpec& exchange) {
  const std::optional<Dispatcher> dispatcher = read_dispatcher(reader);
  const bool was = exchange.dispatcher == Dispatcher::kDeepEp;
  const bool deepep = reader.optional_flag("deepep", was);
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
  read_flag(reader, "fused_qkv", software.fused_qkv);
  read_flag(reader, "fused_gate_up", software.fused_gate_up);
  software.grouped_gemm = reader.optional_choice<GroupedGemmMode>("grouped_gemm", kGroupedGemmModes,
                                                                  software.grouped_gemm);
  software.attention = reader.optional_choice<AttentionKernel>(
      "attention", enum_names<AttentionKernel>(), software.attention);
  read_implementation(reader, "norm", software.norm);
  read_implementation(reader, "rope", software.rope);
  read_implementation(reader, "activation", software.activation);
  read_implementation(reader, "permute", software.permute);
  read_implementation(reader, "cross_entropy", software.cross_entropy);
  read_implementation(reader, "optimizer", software.optimizer);
  read_flag(reader, "residual_in_norm", software.residual_in_norm);
  software.attention_copies =
      reader.optional_count("attention_copies", software.attention_copies, {0, 64});
  read_flag(reader, "cuda_graph", software.cuda_graph);
  software.cuda_graph_scope = reader.optional_choice<CudaGraphScope>(
      "cuda_graph_scope", kCudaGraphScopes, software.cuda_graph_scope);
  read_flag(reader, "tp_relayout", software.tp_relayout);
  read_flag(reader, "casts_expert_weights", software.casts_expert_weights);
  read_flag(reader, "accumulates_in_gemm", software.accumulates_in_gemm);
  read_flag(reader, "clips_gradients", software.clips_gradients);
  read_flag(reader, "checks_gradients", software.checks_gradients);
  read_flag(reader, "async_tp", software.async_tp);
  read_flag(reader, "overlap_grad_reduce", software.overlap_grad_reduce);
  read_flag(reader, "zero_broadcasts", software.zero_broadcasts);
  read_flag(reader, "overlap_param_gather", software.overlap_param_gather);
  read_flag(reader, "shared_expert_overlap", software.shared_expert_overlap);
  read_flag(reader, "ep_overlap", software.ep_overlap);
  read_flag(reader, "fsdp_root_holds_ends", software.fsdp_root_holds_ends);
  read_host(reader, software.host);
  read_flag(reader, "keeps_norm_output", software.keeps_norm_output);
  read_flag(reader, "keeps_gathered_norm_output", software.keeps_gathered_norm_output);
  read_flag(reader, "keeps_activation_product", software.keeps_activation_product);
  read_flag(reader, "fsdp_parameters_fp32", software.fsdp_parameters_fp32);
  read_flag(reader, "fsdp_gathers_for_recompute", software.fsdp_gathers_for_recompute);
  software.vocabulary_multiple =
      reader.optional_count("vocabulary_multiple", software.vocabulary_multiple, {1, 65'536});
  read_exchange_switches(reader, software.exchange);
  read_states(reader, software);
  if (std::optional<MappingReader> memory = reader.optional_mapping("memory")) {
    read_memory_rules(std::move(*memory), software.memory);
  }
}

SoftwareSpec load_software(const std::filesystem::path& file) {
  const ConfigNode root = load_config(file);
  Diagnostics diagnostics;
  MappingReader reader(root, "", diagnostics);
  SoftwareSpec software;
  software.name = reader.required_text("name");
  software.title = reader.required_text("title");
  software.source = reader.required_text("source");
  read_software_switches(reader, software);
  reader.finish();
  diagnostics.throw_if_any();
  return software;
}

}  // namespace stepcast
