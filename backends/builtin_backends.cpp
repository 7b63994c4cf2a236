// SPDX-License-Identifier: Apache-2.0
#include "backends/builtin_backends.hpp"

#include <array>

namespace stepcast {
namespace {

constexpr std::string_view kMeasuredEquation =
    "ratio * default model; ratio = measured / model of rows of the file: of this operator, else "
    "of the nearest eight with each size within a factor of 2 (weights 1 / log distance), else 1";
constexpr std::string_view kMeasuredAssumptions =
    "what the model misses changes slowly with the sizes; rows of the experiment's GPU as its "
    "profile has it";

constexpr std::array kBackends = {
    BackendInfo{"gemm", "tile",
                "launch + start-up + max(prologue + waves of K steps, each bound by matrix rate, "
                "cache, port or local memory, + epilogues; bytes / HBM rate) + split reduction",
                "the library picks its cheapest tile, split and cluster; operands are random and "
                "cold in HBM",
                &make_tile_gemm},
    BackendInfo{"gemm", "roofline",
                "launch + max(whole waves of the best tile at the achieved matrix rate, compulsory "
                "bytes / achieved HBM rate)",
                "L2 serves what a wave shares; the library picks the best of seven tiles",
                &make_roofline_gemm},
    BackendInfo{"gemm", "measured", kMeasuredEquation, kMeasuredAssumptions, &make_measured_gemm},
    BackendInfo{"attention", "tile",
                "launches + max(workgroups of tiles over the units: products, softmax that they do "
                "not hide, start and tail; bytes / HBM rate) + extra kernels",
                "one code path for each named kernel; keys and values come out of the cache",
                &make_tile_attention},
    BackendInfo{"attention", "roofline",
                "launch + max(masked FLOPs / (matrix rate * achieved share), bytes / HBM rate)",
                "the profile's share holds for causal heads of 128 at 4k to 8k tokens",
                &make_roofline_attention},
    BackendInfo{"attention", "measured", kMeasuredEquation, kMeasuredAssumptions,
                &make_measured_attention},
    BackendInfo{"memory_bound", "passes",
                "sum over kernels of launch + ramp + max(passes / rate, values * cycles / units)",
                "operands come from HBM, and no other kernel runs beside it",
                &make_passes_memory_bound},
    BackendInfo{"memory_bound", "measured", kMeasuredEquation, kMeasuredAssumptions,
                &make_measured_memory_bound},
    BackendInfo{"collective", "library",
                "base + hops, partly hidden behind max(bytes inside / scale-up rate, bytes outside "
                "/ NIC rate) + own part, by algorithm and protocol",
                "NCCL's and RCCL's algorithms and their choice by size; an otherwise idle fabric",
                &make_library_collective},
    BackendInfo{"collective", "ring_direct",
                "base + hops + max(bytes inside / scale-up rate, bytes outside / NIC rate)",
                "both directions at full rate, an otherwise idle fabric, one protocol",
                &make_ring_direct_collective},
    BackendInfo{"collective", "measured", kMeasuredEquation, kMeasuredAssumptions,
                &make_measured_collective},
};

struct Install {
  CostModel& model;
  const BackendArgument& argument;

  template <typename Role>
  void operator()(MakeModel<Role> make) const {
    set(make());
  }
  template <typename Role>
  void operator()(MakeFromFile<Role> make) const {
    set(make(argument));
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
  for (const BackendInfo& backend : kBackends) {
    if (backend.role == role && backend.name == name) {
      return &backend;
    }
  }
  return nullptr;
}

bool BackendInfo::takes_file() const {
  return std::visit(
      [](auto make_role) { return std::is_invocable_v<decltype(make_role), BackendArgument>; },
      make);
}

CostModel default_cost_model() {
  CostModel model;
  std::string_view role;
  for (const BackendInfo& backend : kBackends) {
    if (backend.role != role) {
      use_backend(model, backend);
    }
    role = backend.role;
  }
  return model;
}

void use_backend(CostModel& model, const BackendInfo& info, const BackendArgument& argument) {
  std::visit(Install{model, argument}, info.make);
}

}  // namespace stepcast
