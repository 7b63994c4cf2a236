// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/host_launches.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/layer/local_tensors.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/plan/update_rule.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

bool belongs_to_experts(Block block) {
  return block == Block::kRouter || block == Block::kRoutedExperts;
}

// Operators of the framework that `calls` of a model make, with the views and transposes around
// them. Counted in traces of torchtitan: 59 in a forward of a layer of Llama, 155 of one of
// DeepSeek-V3 with experts, for 20 and 60 calls.
double operators_of(const Op& op, double calls) {
  constexpr double kOfProduct = 4.0;    // transpose, view, product, view
  constexpr double kOfAttention = 6.0;  // three transposes, the call, a transpose, a view
  constexpr double kOfExchange = 3.0;   // the call, what wraps its result, the wait
  constexpr double kOfOthers = 1.7;
  if (std::holds_alternative<MemoryBound>(op.work)) {
    return kOfOthers * calls;
  }
  if (std::holds_alternative<Attention>(op.work)) {
    return kOfAttention;
  }
  return communication_axis(op) ? kOfExchange : kOfProduct;
}

double operators_of_all(const OpList& ops) {
  return sum_over(ops, [](const Op& op) {
    return std::holds_alternative<MemoryBound>(op.work) ? 0.0 : operators_of(op, 1.0);
  });
}

}  // namespace

namespace {

// Every process stops once in so many steps, and all wait where any of them does.
Seconds collecting(const TrainingRecipe& training, std::int64_t processes) {
  if (!training.garbage_collection) {
    return {};
  }
  const GarbageCollection& collection = *training.garbage_collection;
  const double none = std::pow(1.0 - 1.0 / collection.steps, static_cast<double>(processes));
  return (1.0 - none) * collection.pause;
}

}  // namespace

Seconds copying_gathered(const StepContext& context, const std::vector<std::size_t>& stages) {
  constexpr double kQueue = 1024.0;  // launches that wait for the device
  const ExpansionContext& expansion = context.expansion;
  const ParallelPlan& plan = expansion.plan;
  if (!expansion.software.zero_all_reduces || plan.zero != 1 || plan.shards() == 1) {
    return {};
  }
  double tensors = 0.0;
  for (const std::size_t stage : stages) {
    for (const KindCount& kind :
         stage_kinds(expansion.model, expansion.training.weights, plan, stage)) {
      const auto of_layer = static_cast<double>(local_tensors(expansion, kind.kind).size());
      tensors += real(kind.layers) * of_layer;
    }
  }
  return std::max(0.0, tensors * real(plan.shards()) - kQueue) * context.cluster.host.eager_kernel;
}

Seconds host_waits(const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  return context.cluster.host.pace * expansion.software.host.waits(expansion.plan.micro_batches) +
         collecting(expansion.training, context.cluster.gpus());
}

// Products are compiled there, and what is generated; what moves rows lies between the regions.
bool HostLaunches::in_region(const Op& op) const {
  const auto* kernel = std::get_if<MemoryBound>(&op.work);
  return work_.expert_regions &&
         (kernel == nullptr || kernel->implementation == Implementation::kCompiled);
}

LaunchMode HostLaunches::mode_of(const Op& op) const {
  const bool shared = op.block == Block::kSharedExpert && !software_.compiles_shared_expert;
  const bool apart = belongs_to_experts(op.block) && !in_region(op);
  return shared || apart ? work_.experts : work_.layers;
}

// A mode that recomputation by operator has sees eager calls and, of compiled pieces, the calls of
// other libraries; a layer that is one graph runs without it.
Seconds HostLaunches::watching(double operators, Direction direction) const {
  const bool watched =
      training_.recompute.kind == RecomputeKind::kOperators && direction == Direction::kForward;
  return watched ? operators * host_.dispatch_mode : Seconds{};
}

Seconds HostLaunches::kernels(const Op& op, const OpCost& cost, LaunchMode mode,
                              Direction direction) const {
  if (work_.kernel) {
    return cost.launches * host_.pace * *work_.kernel;
  }
  switch (mode) {
    case LaunchMode::kProgram:
      return {};
    case LaunchMode::kCompiled:
      return cost.launches * host_.compiled_kernel;
    case LaunchMode::kEager:
      break;
  }
  const Seconds call = work_.calls * host_.eager_call;
  return cost.calls * call + watching(operators_of(op, cost.calls), direction) +
         std::max(0.0, cost.launches - cost.calls) * host_.eager_kernel;
}

// Autograd calls the operator's counterpart in backward without the module around it.
Seconds HostLaunches::communication(const Op& op, LaunchMode mode, Direction direction) const {
  if (work_.communication) {
    return host_.pace * *work_.communication;
  }
  if (mode == LaunchMode::kProgram) {
    return {};
  }
  if (work_.functional_collectives && communication_axis(op) == Axis::kExpert) {
    const Seconds call =
        direction == Direction::kForward ? host_.functional_forward : host_.functional_backward;
    return call + watching(operators_of(op, 1.0), direction);
  }
  return (mode == LaunchMode::kEager ? work_.calls : 1.0) * host_.collective;
}

// In 8 bits each of them quantises its rows too.
Seconds HostLaunches::experts_one_by_one(const Op& op, const GroupedGemm& products, LaunchMode mode,
                                         Direction direction) const {
  OpCost one;
  one.calls = size_of(products.dtype) < Bytes(2) ? 2.0 : 1.0;
  one.launches = one.calls;
  const Seconds product =
      work_.expert ? one.calls * host_.pace * *work_.expert : kernels(op, one, mode, direction);
  return static_cast<double>(products.groups) * product;
}

// Megatron adds the bias of each expert to its own rows, in a loop of the host (experts.py,
// TEGroupedMLP._apply_bias): 190 us an expert in both directions, measured on a Xeon beside an
// H100, where the calls of one are counted as 8 of 36.
bool goes_expert_by_expert(const MemoryBound& kernel) {
  const bool bias = kernel.kind == MemoryBoundKind::kExpertBias ||
                    kernel.kind == MemoryBoundKind::kExpertBiasFp32;
  return bias && kernel.implementation == Implementation::kEager;
}

Seconds HostLaunches::launching(const Op& op, const OpCost& cost, Direction direction,
                                std::int64_t experts) const {
  const LaunchMode mode = mode_of(op);
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
  if (kernel != nullptr && goes_expert_by_expert(*kernel)) {
    return real(experts) * kernels(op, cost, mode, direction);
  }
  const auto* grouped = std::get_if<GroupedGemm>(&op.work);
  if (grouped == nullptr || software_.grouped_gemm == GroupedGemmMode::kTurbo) {
    return kernels(op, cost, mode, direction);
  }
  return experts_one_by_one(op, *grouped, mode, direction);
}

// A layer is one region; around experts that are not compiled, each norm and attention are one, and
// perhaps the router, the order of rows, the experts' products and the shared expert. What these
// call of other libraries, products and attention, a mode sees.
Seconds HostLaunches::entering(const OpList& ops, Direction direction) const {
  if (work_.layers != LaunchMode::kCompiled || work_.kernel || ops.empty()) {
    return {};
  }
  const bool interrupted =
      work_.experts != LaunchMode::kCompiled &&
      std::ranges::any_of(ops, [](const Op& op) { return belongs_to_experts(op.block); });
  if (!interrupted) {
    return host_.compiled_region;
  }
  constexpr double kAroundExperts = 3.0;
  constexpr double kOfExperts = 3.0;
  const bool shared =
      std::ranges::any_of(ops, [](const Op& op) { return op.block == Block::kSharedExpert; });
  const double own = work_.expert_regions ? kOfExperts + (shared ? 1.0 : 0.0) : 0.0;
  const auto seen = std::ranges::count_if(ops, [this](const Op& op) {
    return mode_of(op) == LaunchMode::kCompiled && !communication_axis(op) &&
           !std::holds_alternative<MemoryBound>(op.work);
  });
  return (kAroundExperts + own) * host_.compiled_region +
         watching(static_cast<double>(seen), direction);
}

Seconds HostLaunches::passing_over(const OpList& forward, const OpList& recomputed) const {
  if (work_.layers != LaunchMode::kEager || work_.kernel || recomputed.empty()) {
    return {};
  }
  return watching(operators_of_all(forward) - operators_of_all(recomputed), Direction::kForward);
}

double HostLaunches::behind_mean(std::int64_t ranks) const {
  return work_.has_numbers() ? 1.0 : 1.0 + host_.jitter * expected_extreme(ranks);
}

Seconds HostLaunches::learning_rows() const {
  if (work_.synchronise) {
    return host_.pace * *work_.synchronise;
  }
  // The counts are exchanged in a collective of their own.
  const Seconds counts = work_.functional_collectives ? host_.functional_backward : Seconds{};
  return holds_up() ? counts + static_cast<double>(work_.reads_per_exchange) * host_.device_read
                    : Seconds{};
}

Seconds HostLaunches::unit_hooks() const {
  return work_.unit_hooks ? host_.unit_forward : Seconds{};
}

Seconds HostLaunches::backward_hooks() const {
  return work_.unit_hooks ? max(Seconds{}, host_.unit_backward - host_.unit_forward) : Seconds{};
}

Seconds HostLaunches::writing_table(const Op& concatenation, std::int64_t ranks) const {
  const auto* kernel = std::get_if<MemoryBound>(&concatenation.work);
  if (!work_.unit_hooks || kernel == nullptr || kernel->kind != MemoryBoundKind::kConcatenate) {
    return {};
  }
  constexpr double kElements = 512.0;
  return real(kernel->rows * kernel->cols) / (kElements * real(ranks)) * host_.unit_entry;
}

Seconds HostLaunches::updating(const ParallelPlan& plan, std::int64_t layers) const {
  if (!holds_up()) {
    return {};
  }
  const bool in_units = work_.unit_hooks && plan.zero == 3;
  return static_cast<double>(layers) * (in_units ? host_.unit_update : host_.update_call);
}

namespace {

constexpr Bytes kFullPrecision{4};

// What the cores of one device move while they update: each byte costs the time of a core, shared
// by all of them, and that of the memory of the socket, shared by its devices.
BytesPerSecond update_rate(const ClusterSpec& cluster, const OptimizerOffload& offload) {
  const HostSpec& host = cluster.host;
  const std::int64_t on_node = std::min(cluster.gpus_per_node, cluster.gpus());
  const double devices = real(std::min(on_node, host.socket_devices));
  const double cores = real(offload.cores.value_or(host.update_cores));
  const Seconds of_cores = Bytes(1.0) / (cores * *host.core_memory);
  const Seconds of_memory = devices * Bytes(1.0) / *host.socket_memory;
  return Bytes(1.0) / (of_cores + of_memory);
}

// What an update on the host moves a parameter, beside its states, where gradients lie there. An
// engine makes them fp32 in place and a copy of the parameters in 16 bits for the way back;
// clip_grad_norm_ scales them in place.
Bytes beside_states(const SoftwareSpec& software) {
  if (!software.norms_on_host) {
    return 2.0 * software.states.gradient + kFullPrecision + software.states.parameter;
  }
  return software.scales_gradients ? 2.0 * software.states.gradient : Bytes{};
}

// The update itself: states, what goes with them, and the norm of gradients.
Seconds update_on_host(const StepContext& context, const OptimizerOffload& offload,
                       const UpdateRule& rule, double elements) {
  const SoftwareSpec& software = context.expansion.software;
  const bool takes_all = offload.states == OffloadedStates::kAll;
  const Bytes moved = compulsory_passes(rule.kernel).forward * rule.element +
                      (takes_all ? beside_states(software) : Bytes{});
  const bool norm = takes_all && software.norms_on_host && software.scales_gradients;
  const Bytes read = norm ? elements * software.states.gradient : Bytes{};
  return elements * moved / update_rate(context.cluster, offload) +
         read / *context.cluster.host.norm_memory;
}

}  // namespace

Seconds offload_time(const StepContext& context, const HeldWeights& held) {
  const ExpansionContext& expansion = context.expansion;
  const SoftwareSpec& software = expansion.software;
  const OptimizerSpec& optimizer = expansion.training.optimizer;
  const std::optional<OptimizerOffload> offload = offload_of(optimizer, software);
  const HostSpec& host = context.cluster.host;
  const std::optional<BytesPerSecond> link = context.cluster.host_link();
  const UpdateRule rule = elementwise_rule(optimizer, expansion.plan, software);
  const Bytes parameter =
      shards_are_master(expansion.plan, software) ? rule.parameter : software.states.parameter;
  const double updated = updated_elements(expansion, held.parameters.trained());
  const bool parameters_stay = expansion.training.offload.parameters;
  if (!offload || !link || !host.core_memory || !host.socket_memory || !host.norm_memory) {
    return parameters_stay && link ? updated * parameter / *link : Seconds{};
  }
  const double elements = offload->share * updated;
  const bool takes_moments = offload->states == OffloadedStates::kMoments;
  const Bytes back = takes_moments && rule.master > Bytes{} ? rule.master : parameter;
  const Seconds to_host = offload->states == OffloadedStates::kAll
                              ? Seconds{}
                              : elements * software.states.gradient / *link;
  const Seconds to_device = parameters_stay ? Seconds{} : elements * back / *link;
  const Seconds update = update_on_host(context, *offload, rule, elements);
  return offload->overlap ? max(update, max(to_host, to_device)) : to_host + update + to_device;
}

Seconds paging_time(const StepContext& context, const HeldWeights& held) {
  const ExpansionContext& expansion = context.expansion;
  const OptimizerSpec& optimizer = expansion.training.optimizer;
  const std::optional<BytesPerSecond> link = context.cluster.host_link();
  if (!optimizer.paged || !link) {
    return {};
  }
  const UpdateRule rule = elementwise_rule(optimizer, expansion.plan, expansion.software);
  const Bytes moments = updated_elements(expansion, held.parameters.trained()) * rule.states;
  Bytes used;
  for (const StageMemory& stage : memory_by_stage(expansion)) {
    used = max(used, stage.used());
  }
  const Bytes lacking = used + moments - context.cluster.device.hbm.capacity;
  return 2.0 * max(Bytes{}, min(moments, lacking)) / *link;
}

}  // namespace stepcast
