// SPDX-License-Identifier: Apache-2.0
// The optimizer of a recipe: its rule, the formats of its states, and what of it runs on the host.
//
// What a rule keeps of a parameter and which kernels update it follows from this and from the
// software set (layer/optimizer_rules.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

enum class OptimizerKind { kAdamW, kSgd, kAdafactor, kMuon };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<OptimizerKind> = {"adamw", "sgd",
                                                                            "adafactor", "muon"};

// How a moment is stored. Those of 8 bits have their scales beside them: fp8 one a tensor
// (Transformer Engine's FusedAdam), 8bit an fp32 for each block of 256 elements (bitsandbytes'
// blockwise optimizers and torchao's AdamW8bit).
enum class StateFormat { kFp32, kBf16, kFp16, kFp8, kBlock8 };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<StateFormat> = {"fp32", "bf16", "fp16",
                                                                          "fp8", "8bit"};
// Of one element, its share of the scales included.
Bytes size_of(StateFormat format);

// What the optimizer keeps of a parameter beside the copy that kernels read: nothing, so that it
// updates that one; a copy; or the 16 bits of an fp32 that a bf16 parameter lacks (Megatron's
// store_param_remainders).
enum class MasterCopy { kNone, kFp32, kFp16, kBf16, kRemainder };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<MasterCopy> = {"none", "fp32", "fp16",
                                                                         "bf16", "remainder"};
Bytes size_of(MasterCopy master);

// A format that is not given is that of the software set: fp32, or 16 bits where all of its states
// are.
struct AdamWSpec {
  std::optional<StateFormat> first;   // the mean of gradients
  std::optional<StateFormat> second;  // of their squares
  bool operator==(const AdamWSpec&) const = default;
};

struct MomentumSpec {
  bool kept = true;
  std::optional<StateFormat> format;
  bool operator==(const MomentumSpec&) const = default;
};

struct SgdSpec {
  MomentumSpec momentum;
  bool operator==(const SgdSpec&) const = default;
};

// Shazeer and Stern, arXiv 1804.04235: of the squares of a matrix' gradients sums of rows and of
// columns are kept.
struct AdafactorSpec {
  MomentumSpec momentum{.kept = false, .format = {}};
  bool operator==(const AdafactorSpec&) const = default;
};

// How Muon sees the matrix for queries, keys and values of software that fuses them: as three
// (Megatron's --muon-split-qkv), or as one.
enum class QkvMatrices { kSplit, kJoint };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<QkvMatrices> = {"split", "joint"};

// What Muon does with a matrix that tensor parallelism divides (Megatron's --muon-tp-mode): gathers
// it on every rank; iterates on the parts and adds up the products of rows; or takes each part for
// a matrix of its own.
enum class MuonTensorParallel { kDuplicated, kDistributed, kBlockwise };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<MuonTensorParallel> = {
    "duplicated", "distributed", "blockwise"};

// How matrices are brought to where they are iterated on, if data parallelism divides the
// optimizer: each lies whole on one rank (Megatron's LayerWiseDistributedOptimizer); every rank
// gathers all that it holds a part of (Moonlight, arXiv 2502.16982, algorithm 1); parts are sent to
// an owner and back (Dion, arXiv 2504.05295).
enum class MuonSharding { kWholeMatrices, kGather, kAllToAll };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<MuonSharding> = {"whole", "gather",
                                                                           "all_to_all"};

// Muon (Jordan 2024; Moonlight, arXiv 2502.16982): hidden matrices are updated by their momentum,
// orthogonalised by Newton-Schulz steps; embedding, head and vectors by AdamW.
struct MuonSpec {
  std::int64_t steps = 5;
  std::optional<StateFormat> momentum;
  bool nesterov = true;
  QkvMatrices qkv = QkvMatrices::kSplit;
  MuonTensorParallel tp_mode = MuonTensorParallel::kDuplicated;
  // Unless it is given: whole matrices, or to an owner and back where ZeRO 3 divides each.
  std::optional<MuonSharding> sharding;
  AdamWSpec adamw;  // of what is no hidden matrix
  bool operator==(const MuonSpec&) const = default;
};

// What leaves the device with the parameters that the host updates.
//
//   moments    the moments: the device keeps a master copy beside that of the host, which comes
//   back
//              whole. Megatron's HybridDeviceOptimizer under its distributed optimizer without
//              --use-precision-aware-optimizer, which makes fp32 shards on the device first
//              (core/optimizer/distrib_optimizer.py, _build_model_and_main_param_groups,
//              Megatron-LM d98e8a64)
//   optimizer  moments and master copy; Megatron with --use-precision-aware-optimizer
//   all        these, and gradients as soon as they are reduced: DeepSpeed's offload_optimizer
//              (runtime/zero/stage_1_and_2.py, async_inplace_copy_grad_to_fp32_buffer_from_gpu, and
//              stage3.py, partition_grads, DeepSpeed edaa7221)
enum class OffloadedStates { kMoments, kOptimizer, kAll };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<OffloadedStates> = {"moments",
                                                                              "optimizer", "all"};

// A share of the parameters is updated by the host, which keeps their states: gradients go to it
// and parameters come back (Megatron's HybridDeviceOptimizer, ZeRO-Offload, arXiv 2101.06840).
struct OptimizerOffload {
  double share = 1.0;    // of the parameters of a rank
  bool overlap = false;  // transfers in both directions and the update, parameter by parameter
  OffloadedStates states = OffloadedStates::kOptimizer;
  // Of the host, that update the parameters of one device: OMP_NUM_THREADS, which torchrun sets to
  // 1. Unless they are given, as many as the host's profile was measured with.
  std::optional<std::int64_t> cores{};
  bool operator==(const OptimizerOffload&) const = default;
};

struct OptimizerSpec {
  std::variant<AdamWSpec, SgdSpec, AdafactorSpec, MuonSpec> rule;
  std::optional<MasterCopy> master;  // unless it is given, that of the software set
  std::optional<OptimizerOffload> offload{};
  // Moments lie in managed memory (bitsandbytes' paged optimizers, cudaMallocManaged): past the
  // allocator, on the device as far as there is room, the rest on the host.
  bool paged = false;

  [[nodiscard]] OptimizerKind kind() const { return static_cast<OptimizerKind>(rule.index()); }
  bool operator==(const OptimizerSpec&) const = default;
};

// Reads the key `optimizer` of a recipe: the name of a kind, or a mapping with `kind` and what it
// can have.
OptimizerSpec read_optimizer(MappingReader& recipe);
// The name alone where nothing else is said.
ConfigNode written_optimizer(const OptimizerSpec& optimizer);

}  // namespace stepcast
