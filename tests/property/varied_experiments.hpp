// SPDX-License-Identifier: Apache-2.0
// Experiments that are valid to look at and that nobody runs: what random_experiments.hpp draws,
// half of the time with a model of their own, and with rarer keys of every section on top. For what
// must hold however odd an experiment is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "property/random_experiments.hpp"
#include "property/random_models.hpp"

namespace stepcast::test {

// A key of an experiment and what it may be.
struct KeyValues {
  std::string key;
  std::vector<std::string> values;
};

inline const std::vector<KeyValues>& rarer_training_keys() {
  static const std::vector<KeyValues> keys = {
      {"training.sequence_length", {"1", "7", "100", "512", "32768", "131072", "1048576"}},
      {"training.micro_batch_size", {"3", "8", "64", "1000"}},
      {"training.global_batch_size", {"1", "8", "48", "1000", "4096", "16384"}},
      {"training.dtype", {"fp16", "fp8", "fp4"}},
      {"training.recompute", {"selective_op"}},
      {"training",
       {"{recompute: memory_budget, memory_budget: 0.9}",
        "{recompute: memory_budget, memory_budget: 0.3}",
        "{recompute: full, recompute_layers: [0, 2]}",
        "{recompute: full, recompute_method: block, recompute_layers: 2}",
        "{recompute: full, recompute_layers: 3}",
        "{recompute: selective, recompute_modules: [layernorm, mlp_act, moe_act]}",
        "{recompute: selective, recompute_modules: [mlp, moe, shared_experts, mla_up_proj]}",
        "{recompute: none, lora: {rank: 16, targets: [qkv, o]}}",
        "{recompute: none, lora: {rank: 8, targets: [q, gate, down], dropout: true}, frozen: "
        "all}"}},
      {"training.documents", {"{length: 512}", "{length: 100000}", "{length: 1000, packed: true}"}},
      {"training.frozen", {"[embedding]", "all"}},
      {"training.dropout", {"true"}},
      {"training.work_spread", {"0.01", "0.5"}},
      {"training.garbage_collection", {"{pause: 200 ms, steps: 300}", "{pause: 2 s, steps: 1}"}},
      {"training.tokens", {"15T", "1000", "300B"}},
      {"training.optimizer",
       {"{kind: adamw, first_moment: fp8, second_moment: bf16}",
        "{kind: sgd, momentum_dtype: none}",
        "{kind: muon, steps: 1, nesterov: true, sharding: all_to_all}",
        "{kind: adamw, offload: true}", "{kind: adafactor, momentum_dtype: bf16}"}},
  };
  return keys;
}

// Of what lies on the host or in fewer bits.
inline const std::vector<KeyValues>& memory_keys() {
  static const std::vector<KeyValues> keys = {
      {"training.offload",
       {"{activations: true}", "{activations: {layers: 3}}", "{activations: {overlap: false}}",
        "{parameters: true}", "{parameters: true, activations: true}"}},
      {"training.optimizer",
       {"{kind: adamw, offload: {states: all, cores: 4}}",
        "{kind: adamw, moments: bf16, offload: {states: moments, share: 0.5, overlap: true}}",
        "{kind: adamw, moments: 8bit, paged: true}"}},
      {"training.lora",
       {"{rank: 16, targets: [o, down], base_weights: nf4_double}",
        "{rank: 8, targets: [o], base_weights: nf4}", "{rank: 16, base_weights: int8}"}},
      {"software.memory.expandable_segments", {"true"}},
      {"software.memory.fragmentation_recomputed", {"0.2"}},
      {"software.memory.loss_chunks", {"3", "8"}},
  };
  return keys;
}

inline const std::vector<KeyValues>& rarer_plan_keys() {
  static const std::vector<KeyValues> keys = {
      {"plan.tp", {"3", "16"}},
      {"plan.pp", {"3", "5", "16"}},
      {"plan.vpp", {"2", "3"}},
      {"plan.cp", {"3", "8"}},
      {"plan.ep", {"1", "3", "64"}},
      {"plan.etp", {"1", "2", "4"}},
      {"plan.dp", {"1", "3"}},
      {"plan.fsdp", {"2", "8"}},
      {"plan.fsdp_reshard", {"true", "false"}},
      {"plan.fsdp_experts", {"true", "false"}},
      {"plan.stage_layout", {"even", "balanced", "[1, 2, 1]", "[0, 4, 4, 0]", "E|t*4|t*4|L"}},
      {"plan.cp_all_to_all", {"1", "2", "4"}},
      {"plan.overlap", {"timeline", "{tp: 0.5, dp: 1}", "{rule: uniform, ep: 0, pp: 0.25}"}},
      {"plan.order", {"tp-cp-ep-pp-dp", "dp-pp-ep-cp-tp", "pp-tp-cp-ep-dp"}},
      {"expert_exchange",
       {"{routing: round_robin_forced}", "{routing: independent}",
        "{routing: learned, max_violation: 0.5}",
        "{routing: group_limited, groups: 8, groups_per_token: 4}", "{dispatch_dtype: fp8}",
        "{redundant_experts: 8}", "{num_sms: 8}", "{routing: zipf, zipf_exponent: 3}"}},
  };
  return keys;
}

inline const std::vector<KeyValues>& rarer_cluster_keys() {
  static const std::vector<KeyValues> keys = {
      {"cluster.nodes", {"3", "72", "1000", "4096"}},
      {"cluster.gpus_per_node", {"1", "3", "4", "16"}},
      {"cluster.nics_per_gpu", {"0.125", "4"}},
      {"cluster.nic_rate", {"1 Mb/s", "1 GB/s", "10 TB/s"}},
      {"cluster.nic_efficiency", {"0.01", "1"}},
      {"cluster.link_rate", {"1 Mb/s", "1 GB/s", "100 TB/s"}},
      {"cluster.least_hop", {"1 ns", "1 ms"}},
      {"cluster.topology", {"fat_tree", "rail_optimised_fat_tree"}},
      {"cluster.nodes_per_leaf", {"1", "8"}},
      {"cluster.beyond_leaf", {"0.5", "0.9"}},
      {"cluster.chips", {"screened", "unscreened"}},
      {"cluster.bus_rates",
       {"{all_gather: 15 GB/s}", "{all_reduce: 1 GB/s, all_to_all: 1000 GB/s}"}},
      {"cluster.power_limit", {"200 W", "5 kW"}},
      {"cluster.gpu_clock", {"1 MHz", "100 MHz", "1980 MHz"}},
      {"cluster.memory_sure", {"0.5", "0.99"}},
      {"cluster.scale",
       {"{matrix_rate: 1000, hbm_bandwidth: 0.001}", "{scale_up_bandwidth: 0.001, latency: 1000}",
        "{scale_out_bandwidth: 1000, latency: 0.001}"}},
  };
  return keys;
}

inline const std::vector<KeyValues>& software_keys() {
  static const std::vector<std::string> flag = {"true", "false"};
  static const std::vector<std::string> implementation = {"eager", "compiled", "fused"};
  static const std::vector<KeyValues> keys = {
      {"fused_qkv", flag},
      {"fused_gate_up", flag},
      {"mla_k_rope", {"kv_down", "own_product"}},
      {"grouped_gemm", {"turbo", "legacy", "streams"}},
      {"attention_8bit", flag},
      {"attention_scores", implementation},
      {"norm", implementation},
      {"mixer_passes", implementation},
      {"rope", implementation},
      {"ring_attention", implementation},
      {"quantize", implementation},
      {"fast_accumulation", {"forward", "all", "none"}},
      {"transposes_in_norm", flag},
      {"activation", implementation},
      {"activation_in_product", flag},
      {"row_gather", {"index", "product"}},
      {"expert_buffer", {"received", "worst_case"}},
      {"permute", implementation},
      {"permute_order", {"blocks", "index", "index_put", "index_masked"}},
      {"fused_expert_gate_up", flag},
      {"autocast", {"none", "unsharded"}},
      {"returns_fp32_logits", flag},
      {"adapter_fp32", flag},
      {"rope_form", {"real", "complex", "rotate_half", "cast_rotate_half"}},
      {"rope_in_qk_norm", flag},
      {"weighted_sum", {"fp32", "bf16"}},
      {"cross_entropy", implementation},
      {"optimizer", implementation},
      {"adapter", implementation},
      {"attention_copies", {"0", "3"}},
      {"cuda_graph", flag},
      {"cuda_graph_scope", {"whole", "without_experts"}},
      {"gradient_buckets", {"layers", "by_ranks", "ddp"}},
      {"slices_expert_weights", flag},
      {"stack", {"tuned", "as_it_comes"}},
      {"framework", {"other", "megatron", "transformers"}},
      {"repeats_kv_heads", flag},
      {"tp_relayout", flag},
      {"accumulates_in_gemm", flag},
      {"clips_gradients", flag},
      {"scales_gradients", flag},
      {"norms_on_host", flag},
      {"masks_by_tensor", flag},
      {"async_tp", flag},
      {"scatters_pipeline_sends", flag},
      {"pipeline_transfers", {"free", "in_order", "stepped"}},
      {"overlap_grad_reduce", flag},
      {"zero_broadcasts", flag},
      {"zero_all_reduces", flag},
      {"attention_block_scaled", flag},
      {"head_8bit", flag},
      {"overlap_param_gather", flag},
      {"fsdp_overlap", {"all", "forward", "none"}},
      {"shared_expert_overlap", flag},
      {"ep_overlap", flag},
      {"delays_weight_gradients", flag},
      {"fsdp_root_holds_ends", flag},
      {"fsdp_wraps_lone_experts", flag},
      {"host",
       {"{layers: eager, experts: eager}", "{layers: compiled, calls: 3}",
        "{layers: eager, unit_hooks: true, functional_collectives: true}",
        "{layers: eager, experts: eager, launches_block: true}"}},
      {"keeps_norm_output", flag},
      {"keeps_gathered_norm_output", flag},
      {"keeps_activation_product", flag},
      {"keeps_quantized_inputs", flag},
      {"fsdp_parameters_fp32", flag},
      {"fsdp_layout", {"flat", "per_parameter"}},
      {"vocabulary_multiple", {"1", "128", "65536"}},
      {"frozen_weights", {"parameters", "products", "products_one_layout"}},
      {"state_bytes", {"{gradient: 2 B}", "{optimizer: 0 B}", "{parameter: 4 B, optimizer: 8 B}"}},
      {"gradient_reduce", {"fp32", "bf16"}},
  };
  return keys;
}

class VariedExperiments {
 public:
  VariedExperiments(const Simulator& simulator, RandomChoice draw)
      : memory_(draw),
        draw_(simulator, std::move(draw)),
        software_(simulator.list(Listing::kSoftware)),
        clusters_(simulator.list(Listing::kCluster)) {}

  // Less than half of what is drawn has a step; the others are refused or do not divide.
  ExperimentSource next() {
    ExperimentSource drawn = draw_.next();
    if (draw_.one_in(2)) {
      give_model(drawn);
    }
    if (draw_.one_in(2)) {  // more that a large plan divides
      drawn = drawn.with("cluster.nodes", draw_.any({"16", "32", "64"}))
                  .with("training.global_batch_size", draw_.any({"1024", "4096"}));
    }
    for (const auto* keys : {&rarer_training_keys(), &rarer_plan_keys(), &rarer_cluster_keys()}) {
      if (draw_.one_in(3)) {
        const KeyValues& one = (*keys)[draw_.below(keys->size())];
        drawn = with(drawn, one.key, draw_.any(one.values));
      }
    }
    if (draw_.one_in(8)) {
      drawn = drawn.with("cluster.name", draw_.any(clusters_));
    }
    drawn = draw_.one_in(2) ? drawn.with("software", switches()) : drawn;
    if (memory_.one_in(6)) {
      const KeyValues& one = memory_keys()[memory_.below(memory_keys().size())];
      drawn = drawn.with(one.key, memory_.any(one.values));
    }
    return drawn;
  }

 private:
  // A dense model refuses what experts have.
  void give_model(ExperimentSource& drawn) {
    RandomModel model(draw_);
    drawn.text = "model: " + model.text() + "\n";
    if (!model.has_experts()) {
      std::erase_if(drawn.settings, [](const std::string& setting) {
        return setting.starts_with("plan.ep=") || setting.starts_with("plan.dispatcher=") ||
               setting.starts_with("expert_exchange.");
      });
    }
  }

  // A mapping of several keys of a section is one setting for each: others of it stay.
  static ExperimentSource with(const ExperimentSource& drawn, const std::string& key,
                               const std::string& value) {
    if (key != "training") {
      return drawn.with(key, value);
    }
    ExperimentSource changed = drawn;
    changed.text += "training: " + value + "\n";
    std::erase_if(changed.settings, [](const std::string& setting) {
      return setting.starts_with("training.recompute=");
    });
    return changed;
  }

  std::string switches() {
    std::string text = "{base: " + draw_.any(software_);
    const std::vector<KeyValues>& keys = software_keys();
    // Each key at most once: neighbours of one that is drawn.
    const std::size_t first = draw_.below(keys.size());
    const std::size_t several = 1 + draw_.below(4);
    for (std::size_t i = 0; i < several; ++i) {
      const KeyValues& one = keys[(first + i * 7) % keys.size()];
      text += ", " + one.key + ": " + draw_.any(one.values);
    }
    return text + "}";
  }

  RandomChoice memory_;  // of its own, so that what else is drawn does not follow from it
  RandomExperiments draw_;
  std::vector<std::string> software_;
  std::vector<std::string> clusters_;
};

}  // namespace stepcast::test
