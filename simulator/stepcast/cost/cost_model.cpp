// SPDX-License-Identifier: Apache-2.0
#include "stepcast/cost/cost_model.hpp"

#include <cmath>
#include <utility>

namespace stepcast {
namespace {

template <typename Work>
Dtype dtype_of(const Work& work) {
  if constexpr (std::is_same_v<Work, MemoryBound> || kIsCommunication<Work>) {
    return Dtype::kBf16;  // without matrix products
  } else {
    return work.dtype;
  }
}

// Of what several tensors take together, that of one.
OpCost share_of(OpCost cost, double share) {
  cost.duration = share * cost.duration;
  cost.energy = share * cost.energy;
  cost.hbm = share * cost.hbm;
  cost.launches *= share;
  for (CostTerm& term : cost.terms) {
    term.duration = share * term.duration;
  }
  return cost;
}

struct Price {
  const CostModel& model;
  const KernelContext& kernel;
  const ClusterSpec& cluster;

  OpCost operator()(const Gemm& op) const { return model.gemm->gemm(op, kernel); }
  OpCost operator()(const GroupedGemm& op) const { return model.gemm->grouped_gemm(op, kernel); }
  OpCost operator()(const Attention& op) const { return model.attention->attention(op, kernel); }
  OpCost operator()(const LinearAttention& op) const {
    return model.attention->linear_attention(op, kernel);
  }
  OpCost operator()(const SparseAttention& op) const {
    return model.attention->sparse_attention(op, kernel);
  }
  OpCost operator()(const IndexScores& op) const {
    return model.attention->index_scores(op, kernel);
  }
  OpCost operator()(const MemoryBound& op) const {
    return model.memory_bound->memory_bound(op, kernel);
  }
  OpCost operator()(const Collective& op) const {
    Collective call = op;
    call.bytes = op.joined * op.bytes;
    call.joined = 1.0;
    OpCost cost = model.collective->collective(call, FabricContext{cluster, kernel.detail});
    if (kernel.captured > Seconds{} && op.group.size > 1) {
      cost.duration += kernel.captured;
      if (kernel.detail == Detail::kTerms) {
        cost.terms.push_back({"captured", kernel.captured});
      }
    }
    return share_of(std::move(cost), 1.0 / op.joined);
  }
  OpCost operator()(const ExpertExchange& op) const {
    return model.collective->exchange(op, FabricContext{cluster, kernel.detail});
  }
};

}  // namespace

OpCost CostModel::cost(const Op& op, const KernelContext& kernel,
                       const ClusterSpec& cluster) const {
  return std::visit(Price{*this, kernel, cluster}, op.work);
}

Joules kernel_energy(const KernelActivity& activity, const KernelContext& context) {
  const PowerConstants& power = context.device.kernels.power;
  Joules energy = activity.hbm.value() * power.hbm_energy;
  if (activity.matrix_cycles > 0.0) {
    const Joules base = power.matrix_energy[slot(context.device.base_format())].value_or(Joules{});
    const Dtype format = context.device.multiplied_as(activity.dtype);
    const Joules cycle = power.matrix_energy[slot(format)].value_or(base);
    const double growth = std::pow(context.clock / power.reference_clock, power.voltage_exponent);
    const bool precise =
        activity.dtype == Dtype::kFp8 && activity.accumulation == Accumulation::kPrecise;
    energy +=
        activity.matrix_cycles * growth * (precise ? power.precise_accumulation : 1.0) * cycle;
  }
  return energy;
}

Seconds roofline_bound(const Op& op, const DeviceSpec& device, Hertz clock) {
  return max(matrix_bound(op, device, clock), compulsory_bytes(op) / device.hbm.peak);
}

Seconds matrix_bound(const Op& op, const DeviceSpec& device, Hertz clock) {
  const Flops work = flops(op);
  if (work == Flops{}) {
    return {};
  }
  const Dtype dtype = std::visit([](const auto& any) { return dtype_of(any); }, op.work);
  return work / *device.matrix_peak(device.multiplied_as(dtype), clock);
}

}  // namespace stepcast
