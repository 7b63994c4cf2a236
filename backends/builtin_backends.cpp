// SPDX-License-Identifier: Apache-2.0
#include "backends/builtin_backends.hpp"

#include <array>

namespace stepcast {
namespace {

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
    BackendInfo{"attention", "tile",
                "launches + max(workgroups of tiles over the units: products, softmax that they do "
                "not hide, start and tail; bytes / HBM rate) + extra kernels",
                "one code path for each named kernel; keys and values come out of the cache",
                &make_tile_attention},
    BackendInfo{"attention", "roofline",
                "launch + max(masked FLOPs / (matrix rate * achieved share), bytes / HBM rate)",
                "the profile's share holds for causal heads of 128 at 4k to 8k tokens",
                &make_roofline_attention},
    BackendInfo{"memory_bound", "passes",
                "sum over kernels of launch + ramp + max(passes / rate, values * cycles / units)",
                "operands come from HBM, and no other kernel runs beside it",
                &make_passes_memory_bound},
    BackendInfo{"collective", "ring_direct",
                "base + hops + max(bytes inside / scale-up rate, bytes outside / NIC rate)",
                "both directions at full rate, an otherwise idle fabric, one protocol",
                &make_ring_direct_collective},
};

struct Install {
  CostModel& model;
  void operator()(std::shared_ptr<const GemmModel> (*make)()) const { model.gemm = make(); }
  void operator()(std::shared_ptr<const AttentionModel> (*make)()) const {
    model.attention = make();
  }
  void operator()(std::shared_ptr<const MemoryBoundModel> (*make)()) const {
    model.memory_bound = make();
  }
  void operator()(std::shared_ptr<const CollectiveModel> (*make)()) const {
    model.collective = make();
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

CostModel default_cost_model() {
  CostModel model;
  for (auto backend = kBackends.rbegin(); backend != kBackends.rend(); ++backend) {
    use_backend(model, *backend);
  }
  return model;
}

void use_backend(CostModel& model, const BackendInfo& info) {
  std::visit(Install{model}, info.make);
}

}  // namespace stepcast
