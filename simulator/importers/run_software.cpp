// SPDX-License-Identifier: Apache-2.0
#include "importers/published_run.hpp"

#include <algorithm>
#include <array>

#include "frameworks/words.hpp"
#include "importers/published_names.hpp"
#include "importers/stated_object.hpp"
#include "stepcast/base/decimal_text.hpp"

namespace stepcast {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& value) {
  throw RefusedRow{"feature unsupported: " + what + " '" + value + "'"};
}

// --- the dispatcher -----------------------------------------------------------------------------

constexpr std::array kDispatchers = {
    Word{"hybridep", "hybridep"},
    Word{"deepep", "deepep"},
    Word{"minimal_async_ep", "minimal_async_ep"},
    Word{"allgather", "allgather"},
    Word{"alltoall", "alltoall"},
    Word{"standard-a2a", "alltoall"},
};

// The dispatcher that a run names. A padded capacity spares the host its wait for the sizes.
void set_dispatcher(const std::string& stated, bool by_feature, RunSoftware& software) {
  const std::string text = short_remark(stated);
  const Word* const named = row_within(kDispatchers, &Word::theirs, text);
  if (named == nullptr) {
    refuse("the dispatcher", stated);
  }
  const std::string_view dispatcher = named->ours;
  software.changes["dispatcher"] = dispatcher;
  const std::string_view factor = behind(text, "capacity_factor ").value_or("");
  if (dispatcher == "alltoall" && mentions(text, "padded") && !first_digits(factor, 1).empty()) {
    software.changes["expert_exchange"]["capacity_factor"] = leading_decimal(factor);
  }
  // These bring their own kernels. Behind DeepEP alone torchtitan permutes by index_select, masks
  // and scatter_add (distributed/deepep/deepep.py), for which its own rows stand.
  const bool by_torchtitan =
      dispatcher == "deepep" && family_of(software.base) == SourceFamily::kTorchtitan;
  if (dispatcher != "alltoall" && !by_feature && !by_torchtitan) {
    software.changes["permute"] = "fused";
  }
}

// How MaxText brings tokens to its experts. By products: sparse_matmul false, einsums of BSM and
// BSEC over rows of a capacity (src/maxtext/layers/moe.py).
enum class MoeGather { kByIndex, kByProducts };

// MaxText's ways through its experts, and the rows that they have room for, of the worst case,
// where that is known: behind DeepEP the temporary memory of 178 GiB at 7 sequences
// (amd-agi/maxtext-slurm, pp-vs-fsdp-deepseek3-671b.md) has space for half.
struct MoePath {
  std::string_view start;
  std::string_view dispatcher;
  MoeGather gather = MoeGather::kByIndex;
  std::optional<double> static_rows{};
};
constexpr std::array kMoePaths = {MoePath{"sparse-gmm-deepep", "deepep", MoeGather::kByIndex, 0.5},
                                  MoePath{"sparse-gmm", "alltoall"},
                                  MoePath{"dense", "alltoall", MoeGather::kByProducts}};

void read_moe_path(StatedObject& overlap, RunSoftware& software) {
  overlap.ignore("moe_dispatch");  // moe_path and moe_capacity_factor in words
  const std::string path = overlap.text("moe_path");
  if (!path.empty()) {
    const auto* const known = std::ranges::find_if(
        kMoePaths, [&](std::string_view start) { return path.starts_with(start); },
        &MoePath::start);
    if (known == kMoePaths.end()) {
      refuse("the path through the experts", path);
    }
    software.changes["dispatcher"] = known->dispatcher;
    if (known->static_rows) {
      software.changes["memory"]["static_rows"] = *known->static_rows;
    }
    if (known->gather == MoeGather::kByProducts) {
      software.changes["row_gather"] = "product";
      software.changes["expert_buffer"] = "received";
    }
  }
  if (const auto factor = overlap.number("moe_capacity_factor")) {
    software.changes["expert_exchange"]["capacity_factor"] = *factor;
  }
}

// --- switches -----------------------------------------------------------------------------------

// Keys of one meaning: the first that is stated counts.
std::optional<bool> any_flag(StatedObject& overlap, std::initializer_list<const char*> keys) {
  std::optional<bool> value;
  for (const char* key : keys) {
    const std::optional<bool> own = overlap.flag(key);
    value = value ? value : own;
  }
  return value;
}

// Megatron gathers parameters beside the forward pass only if it reduces beside the backward one.
void read_data_overlap(StatedObject& overlap, RunSoftware& software) {
  const auto reduce =
      any_flag(overlap, {"grad_reduce_overlap", "overlap_grad_reduce", "grad_reduce", "grad_sync"});
  const auto gather = any_flag(overlap, {"overlap_param_gather", "param_gather", "param_sync"});
  if (reduce) {
    software.changes["overlap_grad_reduce"] = *reduce;
  }
  if (gather || (reduce && !*reduce)) {
    software.changes["overlap_param_gather"] = gather.value_or(false);
  }
}

struct GraphName {
  std::string_view published;
  bool captured;
  bool without_experts;  // of a model with experts
};
// Transformer Engine's graphs are captured module by module, without dropless experts.
constexpr std::array kGraphs = {GraphName{"transformer_engine", true, true},
                                GraphName{"full_iteration", true, false},
                                GraphName{"local", true, false}, GraphName{"none", false, false}};

void read_graph(StatedObject& overlap, const RunModel& model, RunSoftware& software) {
  const std::string written = overlap.text("cuda_graph");
  if (written.empty()) {
    return;
  }
  const GraphName* const known = row_with(kGraphs, &GraphName::published, written);
  if (known == nullptr) {
    refuse("the CUDA graph", written);
  }
  software.changes["cuda_graph"] = known->captured;
  if (known->without_experts && model.experts) {
    software.changes["cuda_graph_scope"] = "without_experts";
  }
}

// A row whose recipe has been read says null where the recipe says nothing, so that what recipes of
// its release set elsewhere does not hold for it.
void settle_nulls(StatedObject& overlap, const RunModel& model, RunSoftware& software) {
  const auto is_null = [&](const char* key) {
    return overlap.has(key) && overlap.value(key).is_null();
  };
  if (!model.experts) {
    return;
  }
  if (is_null("moe_dispatcher")) {
    software.changes["dispatcher"] = "alltoall";
  }
  if (is_null("cuda_graph")) {
    software.changes["cuda_graph"] = false;
  }
}

// Features of Primus' MoE package, each on top of its baseline.
void read_features(StatedObject& overlap, RunSoftware& software, Record& assumed) {
  for (const std::string& feature : overlap.texts("features")) {
    if (feature == "ce_fusion") {
      software.changes["cross_entropy"] = "fused";
    } else if (feature == "sync_free") {
      software.changes["permute"] = "fused";
      software.changes["host"] = {{"synchronise", "0 us"}};
    } else if (feature == "deepep") {
      set_dispatcher(feature, true, software);
    } else if (feature == "numa") {
      assumed.push_back("numa: where the host's threads run is not modelled");
    } else {
      refuse("the feature", feature);
    }
  }
}

void read_schedule(StatedObject& overlap, Record& plan) {
  std::string written = overlap.text("schedule");
  const std::string of_primus = overlap.text("pp_schedule");
  written = written.empty() ? of_primus : written;
  if (written.empty()) {
    return;
  }
  const std::string schedule = required_schedule(written);
  if (plan.value("pp", 1) > 1) {
    plan["schedule"] = schedule;
  }
}

// Ours for what the row states as `key`, which `what` calls in a refusal; empty if it states
// nothing.
template <std::size_t N>
std::string_view ours_for(StatedObject& overlap, const char* key, const std::array<Word, N>& table,
                          const std::string& what) {
  const std::string written = overlap.text(key);
  const std::string_view ours = ours_of(table, written);
  if (ours.empty() && !written.empty()) {
    refuse(what, written);
  }
  return ours;
}

void read_attention(StatedObject& overlap, RunSoftware& software) {
  constexpr std::array kKernels = {Word{"FA2", "flash2"}, Word{"FA3", "flash3"}};
  const std::string_view kernel = ours_for(overlap, "attn", kKernels, "the attention kernel");
  if (!kernel.empty()) {
    software.changes["attention"] = kernel;
  }
}

void read_context_exchange(StatedObject& overlap, Record& plan) {
  constexpr std::array kAlgorithms = {Word{"a2a", "all_to_all"}, Word{"p2p", "ring"},
                                      Word{"all_gather", "all_gather"},
                                      Word{"allgather", "all_gather"}};
  if (plan.value("cp", 1) == 1) {
    overlap.ignore("cp_comm_type");
    return;
  }
  const std::string_view algorithm =
      ours_for(overlap, "cp_comm_type", kAlgorithms, "the context parallelism by");
  if (!algorithm.empty()) {
    plan["cp_algorithm"] = algorithm;
  }
}

// What a row states and no switch of ours says: it stands in the record.
struct WithoutSwitch {
  const char* key;
  const char* reason;
};
constexpr std::array kWithoutSwitch = {
    WithoutSwitch{"p2p_overlap", "messages of a pipeline run beside computation wherever they can"},
    WithoutSwitch{"pp_overlap", "messages of a pipeline run beside computation wherever they can"},
    WithoutSwitch{"cpu_offload_layers",
                  "activations in the host's memory are not modelled, and memory is not compared"},
    WithoutSwitch{"fsdp_mp_mode", "the software set has one rule for both modes"},
    WithoutSwitch{"precision", "the number format is that of train.dtype"},
    WithoutSwitch{"fp8_all_gather", "FSDP gathers in 16 bits"},
    WithoutSwitch{"moe_paged_stash", "where padded rows of experts are kept is not modelled"},
    WithoutSwitch{"moe_router_force_load_balancing", "experts are taken to be equally loaded"},
    WithoutSwitch{"net_plugin", "the network's plug-in is not modelled"},
    WithoutSwitch{"turbo", "Primus Turbo's kernels are those of the software set"},
};

void note_without_switch(StatedObject& overlap, Record& assumed) {
  for (const WithoutSwitch& known : kWithoutSwitch) {
    if (overlap.states(known.key)) {
      assumed.push_back(overlap.path_of(known.key) + " " + overlap.text(known.key) +
                        " has no switch: " + known.reason);
    }
  }
}

void read_reshard(StatedObject& overlap, Record& plan) {
  const std::string written = overlap.text("reshard_after_forward");
  if (written == "true" || written == "always") {
    plan["fsdp_reshard"] = true;
  } else if (written == "false" || written == "never") {
    plan["fsdp_reshard"] = false;
  } else if (!written.empty() && written != "default") {
    refuse("the resharding after forward", written);
  }
}

}  // namespace

Record RunSoftware::record() const {
  if (changes.empty()) {
    return base;
  }
  Record record = {{"base", base}};
  record.update(changes);
  return record;
}

void read_overlap(StatedObject& train, const RunModel& model, RunSoftware& software, Record& plan,
                  Record& assumed) {
  StatedObject& overlap = train.object("overlap");
  read_data_overlap(overlap, software);
  if (const auto async = any_flag(overlap, {"tp_comm_overlap", "async_tp"})) {
    software.changes["async_tp"] = *async;
  }
  if (const auto beside =
          any_flag(overlap, {"moe_a2a_overlap", "overlap_moe_expert_parallel_comm"})) {
    software.changes["ep_overlap"] = *beside;
  }
  if (const auto delayed = overlap.flag("delay_wgrad_compute")) {
    software.changes["delays_weight_gradients"] = *delayed;
  }
  if (const auto head = overlap.flag("fp8_output_proj")) {
    software.changes["head_8bit"] = *head;
  }
  if (overlap.flag("cross_entropy_fusion").value_or(false)) {
    software.changes["cross_entropy"] = "fused";
  }
  read_graph(overlap, model, software);
  std::string stated = overlap.text("moe_dispatcher");
  const std::string backend = overlap.text("ep_comm_backend");
  stated = stated.empty() ? backend : stated;
  if (!stated.empty() && model.experts) {
    set_dispatcher(stated, false, software);
  }
  settle_nulls(overlap, model, software);
  read_features(overlap, software, assumed);
  read_moe_path(overlap, software);
  read_attention(overlap, software);
  read_context_exchange(overlap, plan);
  read_schedule(overlap, plan);
  read_reshard(overlap, plan);
  note_without_switch(overlap, assumed);
}

}  // namespace stepcast
