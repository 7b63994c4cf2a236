// SPDX-License-Identifier: Apache-2.0
// What is trained, apart from the model: batch, sequence, number format, recomputation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/model/document_mask.hpp"
#include "stepcast/model/trained_weights.hpp"
#include "stepcast/plan/optimizer_spec.hpp"

namespace stepcast {

// Activation recomputation in Megatron's terms.
//
//   full uniform: every layer is recomputed; one input is kept for each run of `layers` layers
//   full block: the first `layers` layers of each stage are recomputed, the rest keeps everything
//   full, layer_list: the layers named, counted from 0 over the model
//   selective: the modules named are recomputed in every layer
//   selective_op, memory_budget: tensors are picked one by one (recompute_choice.hpp)
enum class RecomputeKind { kNone, kSelective, kFull, kOperators, kBudget };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<RecomputeKind> = {
    "none", "selective", "full", "selective_op", "memory_budget"};
enum class RecomputeMethod { kUniform, kBlock };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<RecomputeMethod> = {"uniform", "block"};
enum class RecomputeModule {
  kCoreAttention,
  kLayerNorm,
  kMlpActivation,  // of every feed-forward, experts included
  kMoeActivation,  // of the routed experts
  kMlp,
  kMoe,
  kSharedExperts,
  kMlaUp,
  kQkNorm,      // products of queries and keys, whose results their norms alone read
  kMoeDispatch  // rows of the routed experts on their way to them
};
template <>
inline constexpr std::array<std::string_view, 10> kNamesOf<RecomputeModule> = {
    "core_attn", "layernorm",      "mlp_act",     "moe_act", "mlp",
    "moe",       "shared_experts", "mla_up_proj", "qk_norm", "moe_dispatch"};
// The names of the formats in which a model can be trained.
std::span<const std::string_view> training_dtype_names();

// Modules that an operator or a tensor belongs to, or that a recipe recomputes.
class ModuleSet {
 public:
  constexpr ModuleSet() = default;
  constexpr ModuleSet(std::initializer_list<RecomputeModule> modules) {
    for (const RecomputeModule module : modules) {
      bits_ |= 1U << static_cast<unsigned>(module);
    }
  }
  [[nodiscard]] constexpr bool meets(ModuleSet other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr ModuleSet with(ModuleSet other) const {
    ModuleSet both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  bool operator==(const ModuleSet&) const = default;

 private:
  std::uint32_t bits_ = 0;
};

struct RecomputeSpec {
  RecomputeKind kind = RecomputeKind::kNone;
  RecomputeMethod method = RecomputeMethod::kUniform;
  std::int64_t layers = 1;
  std::vector<std::int64_t> layer_list;  // full: these, whatever the method says
  double budget = 1.0;                   // memory_budget: the share of saved bytes that stays
  std::vector<RecomputeModule> modules = {RecomputeModule::kCoreAttention};

  [[nodiscard]] bool recomputes(RecomputeModule module) const;
  // What selective recomputation recomputes; none with the other kinds.
  [[nodiscard]] ModuleSet selected() const;
  bool operator==(const RecomputeSpec&) const = default;
};

// What lies in the host's memory between its uses, and travels over the link to the device.
struct HostOffload {
  // Parameters, as the plan shards them: fetched for each gather of a unit (DeepSpeed's
  // offload_param, FSDP's cpu_offload).
  bool parameters = false;
  // Tensors that stay for backward: all that the recipe's recomputation leaves. Checkpoints with
  // recompute: full (DeepSpeed's cpu_checkpointing), else every saved tensor (torchtune's and TRL's
  // OffloadActivations).
  bool activations = false;
  // The first layers of each stage whose activations go (Megatron's cpu_offloading_num_layers); 0:
  // all.
  std::int64_t activation_layers = 0;
  // They travel beside the computation, on a stream of their own: torchtune's and TRL's,
  // DeepSpeed's since 858e91ee of 2026-08-21. Else the pass stands still meanwhile, as with
  // PyTorch's save_on_cpu and checkpoint_wrapper's offload_to_cpu, which copy on the stream that
  // computes, and DeepSpeed before (Tensor.cpu, which has no pinned memory either).
  bool activations_overlap = true;

  [[nodiscard]] bool any() const { return parameters || activations; }
  bool operator==(const HostOffload&) const = default;
};

// In which format a model's weights lie where a framework trains them as they were loaded: in fp32,
// under autocast; or in 16 bits, which gradients and moments then have as well
// (`model.to(torch.bfloat16)`).
enum class WeightFormat { kFp32, kBf16 };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<WeightFormat> = {"fp32", "bf16"};

// Python's collector of garbage, where a script leaves it on: each process stops for `pause` once
// in `steps` steps, not in the same ones.
struct GarbageCollection {
  Seconds pause;
  double steps = 1.0;
  bool operator==(const GarbageCollection&) const = default;
};

struct TrainingRecipe {
  std::int64_t sequence_length = 0;
  std::int64_t micro_batch_size = 1;
  std::int64_t global_batch_size = 0;
  Dtype dtype = Dtype::kBf16;
  RecomputeSpec recompute;
  OptimizerSpec optimizer;
  bool dropout = false;    // GPT-3 style: after attention, softmax and MLP
  Documents documents;     // in a sequence; a library with a mask for them keeps them apart
  TrainedWeights weights;  // the keys `lora` and `frozen`
  // The key `weights`; where it is not given, the software set's own.
  std::optional<WeightFormat> weight_format;
  HostOffload offload;
  // Standard deviation between data-parallel ranks of their work in a step, of its mean: sequences
  // or images that are not all of one size.
  double work_spread = 0.0;
  std::optional<GarbageCollection> garbage_collection;
  bool operator==(const TrainingRecipe&) const = default;
};

// Reads the mapping `training` of an experiment.
TrainingRecipe read_training(MappingReader reader);

}  // namespace stepcast
