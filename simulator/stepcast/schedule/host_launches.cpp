// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/host_launches.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

bool belongs_to_experts(Block block) {
  return block == Block::kRouter || block == Block::kRoutedExperts;
}

}  // namespace

LaunchMode HostLaunches::mode_of(Block block) const {
  const bool shared = block == Block::kSharedExpert && !software_.compiles_shared_expert;
  return shared || belongs_to_experts(block) ? work_.experts : work_.layers;
}

Seconds HostLaunches::kernels(const OpCost& cost, LaunchMode mode, Direction direction) const {
  if (work_.kernel) {
    return cost.launches * *work_.kernel;
  }
  switch (mode) {
    case LaunchMode::kProgram:
      return {};
    case LaunchMode::kCompiled:
      return cost.launches * host_.compiled_kernel;
    case LaunchMode::kEager:
      break;
  }
  const bool watched =
      training_.recompute.kind == RecomputeKind::kOperators && direction == Direction::kForward;
  const Seconds call = work_.calls * host_.eager_call + (watched ? host_.dispatch_mode : Seconds{});
  return cost.calls * call + std::max(0.0, cost.launches - cost.calls) * host_.eager_kernel;
}

// Autograd calls the operator's counterpart in backward without the module around it.
Seconds HostLaunches::communication(const Op& op, LaunchMode mode, Direction direction) const {
  if (work_.communication) {
    return *work_.communication;
  }
  if (mode == LaunchMode::kProgram) {
    return {};
  }
  if (work_.functional_collectives && std::holds_alternative<ExpertExchange>(op.work)) {
    return direction == Direction::kForward ? host_.functional_forward : host_.functional_backward;
  }
  return (mode == LaunchMode::kEager ? work_.calls : 1.0) * host_.collective;
}

// In 8 bits each of them quantises its rows too.
Seconds HostLaunches::experts_one_by_one(const GroupedGemm& products, LaunchMode mode,
                                         Direction direction) const {
  OpCost one;
  one.calls = size_of(products.dtype) < Bytes(2) ? 2.0 : 1.0;
  one.launches = one.calls;
  const Seconds product = work_.expert ? one.calls * *work_.expert : kernels(one, mode, direction);
  return static_cast<double>(products.groups) * product;
}

Seconds HostLaunches::launching(const Op& op, const OpCost& cost, Direction direction) const {
  const LaunchMode mode = mode_of(op.block);
  if (op.block == Block::kDataParallel && work_.unit_hooks) {
    return {};
  }
  if (communication_axis(op)) {
    return communication(op, mode, direction);
  }
  // A transpose is a second result of the kernel before it.
  const auto* kernel = std::get_if<MemoryBound>(&op.work);
  if (kernel != nullptr && kernel->kind == MemoryBoundKind::kTranspose) {
    return {};
  }
  const auto* grouped = std::get_if<GroupedGemm>(&op.work);
  if (grouped == nullptr || software_.grouped_gemm == GroupedGemmMode::kTurbo) {
    return kernels(cost, mode, direction);
  }
  return experts_one_by_one(*grouped, mode, direction);
}

// A layer is one region; around experts that are not compiled, each norm and attention are one.
Seconds HostLaunches::entering(const OpList& ops) const {
  if (work_.layers != LaunchMode::kCompiled || work_.kernel || ops.empty()) {
    return {};
  }
  const bool interrupted =
      work_.experts != LaunchMode::kCompiled &&
      std::ranges::any_of(ops, [](const Op& op) { return belongs_to_experts(op.block); });
  constexpr double kAroundExperts = 3.0;
  return (interrupted ? kAroundExperts : 1.0) * host_.compiled_region;
}

Seconds HostLaunches::learning_rows() const {
  if (work_.synchronise) {
    return *work_.synchronise;
  }
  return holds_up() ? static_cast<double>(work_.reads_per_exchange) * host_.device_read : Seconds{};
}

Seconds HostLaunches::unit_hooks() const {
  return work_.unit_hooks ? host_.unit_forward : Seconds{};
}

Seconds HostLaunches::backward_hooks() const {
  return work_.unit_hooks ? max(Seconds{}, host_.unit_backward - host_.unit_forward) : Seconds{};
}

Seconds HostLaunches::updating(const ParallelPlan& plan, std::int64_t layers) const {
  if (!holds_up()) {
    return {};
  }
  const bool in_units = work_.unit_hooks && plan.zero == 3;
  return static_cast<double>(layers) * (in_units ? host_.unit_update : host_.update_call);
}

Seconds offload_time(const StepContext& context, const HeldWeights& held) {
  const ExpansionContext& expansion = context.expansion;
  const SoftwareSpec& software = expansion.software;
  const OptimizerSpec& optimizer = expansion.training.optimizer;
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  const HostSpec& host = context.cluster.host;
  if (!offload || !host.device_link || !host.update_memory || !host.node_memory) {
    return {};
  }
  const UpdateRule rule = elementwise_rule(optimizer, expansion.plan, software);
  const double elements = offload->share * updated_elements(expansion, held.parameters.trained());
  const Bytes parameter =
      shards_are_master(expansion.plan, software) ? rule.parameter : software.states.parameter;
  const double devices = real(std::min(context.cluster.gpus_per_node, context.cluster.gpus()));
  const BytesPerSecond cores = min(*host.update_memory, (1.0 / devices) * *host.node_memory);
  const Seconds to_host = elements * software.states.gradient / *host.device_link;
  const Seconds to_device = elements * parameter / *host.device_link;
  const Seconds update = elements * compulsory_passes(rule.kernel).forward * rule.element / cores;
  return offload->overlap ? max(update, max(to_host, to_device)) : to_host + update + to_device;
}

}  // namespace stepcast
