// SPDX-License-Identifier: Apache-2.0
#include "backends/builtin_backends.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

constexpr std::string_view kMeasuredEquation =
    "ratio * default model; ratio = measured / model of rows of the file: of this operator, else "
    "of the nearest eight with each size within a factor of 2 (weights 1 / log distance), else 1";
constexpr std::string_view kMeasuredAssumptions =
    "what the model misses changes slowly with the sizes; rows of the experiment's GPU as its "
    "profile has it";

constexpr std::string_view kMeasuredSource =
    "the user's own measurements; inverse distances as weights: Shepard, ACM 1968";

constexpr std::array kBackends = {
    BackendInfo{
        BackendRole::kGemm, "tile",
        "launch + start-up + max(prologue + waves of K steps, each bound by matrix rate, "
        "cache, port or local memory, + epilogues; bytes / HBM rate) + split reduction",
        "the library picks its cheapest tile, split and cluster; operands are random and "
        "cold in HBM",
        "DeepGEMM's cost model, github deepseek-ai/DeepGEMM csrc/jit_kernels/heuristics; Origami, "
        "github ROCm/rocm-libraries shared/origami; constants in hardware_profiles/kernels",
        &make_tile_gemm},
    BackendInfo{
        BackendRole::kGemm, "roofline",
        "launch + max(whole waves of the best tile at the achieved matrix rate, compulsory "
        "bytes / achieved HBM rate)",
        "L2 serves what a wave shares; the library picks the best of seven tiles",
        "Williams, Waterman and Patterson, Roofline, CACM 52(4), 2009; waves of tiles as in "
        "NVIDIA's Matrix Multiplication Background User's Guide",
        &make_roofline_gemm},
    BackendInfo{BackendRole::kGemm, "measured", kMeasuredEquation, kMeasuredAssumptions,
                kMeasuredSource, &make_measured_gemm},
    BackendInfo{BackendRole::kAttention, "tile",
                "launches + max(workgroups of tiles over the units: products, softmax that they do "
                "not hide, start and tail; bytes / HBM rate) + extra kernels",
                "one code path for each named kernel; keys and values come out of the cache",
                "FlashAttention-2 and -3, arXiv 2307.08691 and 2407.08608; tiles and shares in "
                "hardware_profiles/architectures",
                &make_tile_attention},
    BackendInfo{
        BackendRole::kAttention, "roofline",
        "launch + max(masked FLOPs / (matrix rate * achieved share), bytes / HBM rate)",
        "the profile's share holds for causal heads of 128 at 4k to 8k tokens",
        "FlashAttention-2, arXiv 2307.08691, for the count of FLOPs; Roofline, CACM 52(4), 2009",
        &make_roofline_attention},
    BackendInfo{BackendRole::kAttention, "measured", kMeasuredEquation, kMeasuredAssumptions,
                kMeasuredSource, &make_measured_attention},
    BackendInfo{
        BackendRole::kMemoryBound, "passes",
        "sum over kernels of launch + ramp + max(passes / rate, values * cycles / units)",
        "operands come from HBM, and no other kernel runs beside it",
        "Roofline, CACM 52(4), 2009; PyTorch's and Transformer Engine's kernels for the passes; "
        "constants in hardware_profiles/kernels",
        &make_passes_memory_bound},
    BackendInfo{BackendRole::kMemoryBound, "measured", kMeasuredEquation, kMeasuredAssumptions,
                kMeasuredSource, &make_measured_memory_bound},
    BackendInfo{
        BackendRole::kCollective, "library",
        "base + hops, partly hidden behind max(bytes inside / scale-up rate, bytes outside "
        "/ NIC rate) + own part, by algorithm and protocol",
        "NCCL's and RCCL's algorithms and their choice by size; an otherwise idle fabric",
        "NCCL and RCCL, src/graph/tuning.cc; `stepcast list collectives` has each algorithm's",
        &make_library_collective},
    BackendInfo{
        BackendRole::kCollective, "ring_direct",
        "base + hops + max(bytes inside / scale-up rate, bytes outside / NIC rate)",
        "both directions at full rate, an otherwise idle fabric, one protocol",
        "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in "
        "MPICH, 2005",
        &make_ring_direct_collective},
    BackendInfo{BackendRole::kCollective, "measured", kMeasuredEquation, kMeasuredAssumptions,
                kMeasuredSource, &make_measured_collective},
};

struct Install {
  CostModel& model;
  const MeasuredOperators& measured;

  template <typename Role>
  void operator()(MakeModel<Role> make) const {
    set(make());
  }
  template <typename Role>
  void operator()(MakeFromRows<Role> make) const {
    set(make(measured));
  }
  void set(std::shared_ptr<const GemmModel> gemm) const { model.gemm = std::move(gemm); }
  void set(std::shared_ptr<const AttentionModel> attention) const {
    model.attention = std::move(attention);
  }
  void set(std::shared_ptr<const MemoryBoundModel> memory_bound) const {
    model.memory_bound = std::move(memory_bound);
  }
  void set(std::shared_ptr<const CollectiveModel> collective) const {
    model.collective = std::move(collective);
  }
};

}  // namespace

std::span<const BackendInfo> builtin_backends() { return kBackends; }

const BackendInfo* find_backend(std::string_view role, std::string_view name) {
  const auto* const found = std::ranges::find_if(kBackends, [&](const BackendInfo& backend) {
    return stepcast::name(backend.role) == role && backend.name == name;
  });
  return found == kBackends.end() ? nullptr : found;
}

bool BackendInfo::takes_file() const {
  return std::visit(
      [](auto make_role) { return std::is_invocable_v<decltype(make_role), MeasuredOperators>; },
      make);
}

CostModel default_cost_model() {
  CostModel model;
  const BackendInfo* before = nullptr;
  for (const BackendInfo& backend : kBackends) {
    if (before == nullptr || backend.role != before->role) {
      use_backend(model, backend);
    }
    before = &backend;
  }
  return model;
}

void use_backend(CostModel& model, const BackendInfo& info, const MeasuredOperators& measured) {
  std::visit(Install{model, measured}, info.make);
}

}  // namespace stepcast
