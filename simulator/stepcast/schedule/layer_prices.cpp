// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/layer_prices.hpp"

#include <algorithm>
#include <functional>

#include "stepcast/base/hash.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/exchange_rules.hpp"
#include "stepcast/schedule/host_launches.hpp"
#include "stepcast/schedule/overlap_windows.hpp"

namespace stepcast {
namespace {

// Neighbours in a space share theirs: of micro-batches and recomputations of one division of a
// layer there are some ten. What is kept stays within some ten MiB.
constexpr std::size_t kMostWorks = 32;

// The units that any of several communications holds, and what all of them ask of HBM over the time
// that they take: a short one that is fast stands for its own time alone.
class MeanLoad {
 public:
  explicit MeanLoad(const StepContext& context)
      : context_(context), kernel_(kernel_context(context)) {}

  void add(const Op& op) {
    if (communication_axis(op)) {
      units_ = std::max(units_, add_copy(op).units);
    }
  }
  // By copy engines, which hold no compute units.
  CommunicationLoad add_copy(const Op& op) {
    const OpCost cost = context_.cost.cost(op, kernel_, context_.cluster);
    const CommunicationLoad own = communication_load(op, cost, context_.cluster.device);
    moved_ += own.hbm * cost.duration;
    least_ += own.stretch.least * cost.duration;
    most_ += own.stretch.most * cost.duration;
    at_clock_ += own.stretch.clock_share * cost.duration;
    lasted_ += cost.duration;
    return own;
  }
  [[nodiscard]] CommunicationLoad load() const {
    if (!(lasted_ > Seconds{})) {
      return {units_, {}, {}};
    }
    return {units_, moved_ / lasted_, {least_ / lasted_, most_ / lasted_, at_clock_ / lasted_}};
  }

 private:
  const StepContext& context_;
  KernelContext kernel_;
  std::int64_t units_ = 0;
  Bytes moved_;
  Seconds least_;  // the stretch of each, times its duration
  Seconds most_;
  Seconds at_clock_;
  Seconds lasted_;
};

Fabric fabric_of(const Op& op, const ClusterSpec& cluster) {
  const auto* collective = std::get_if<Collective>(&op.work);
  const auto* exchange = std::get_if<ExpertExchange>(&op.work);
  if (collective == nullptr && exchange == nullptr) {
    return Fabric::kNone;
  }
  const ProcessGroup group = collective != nullptr ? collective->group : exchange->group;
  return domains_spanned(group, cluster.domain_size()) > 1 ? Fabric::kScaleOut : Fabric::kScaleUp;
}

// The operators of a layer that depend on how many rows its experts get: a range from the first of
// them to the last.
struct ExpertRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool holds(std::size_t i) const { return begin <= i && i < end; }
};

ExpertRange expert_range(const OpList& ops) {
  ExpertRange range;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].block == Block::kRoutedExperts) {
      range.begin = range.end == 0 ? i : range.begin;
      range.end = i + 1;
    }
  }
  return range;
}

// How many experts the grouped products of a list are of; 1 where it has none.
std::int64_t experts_of_products(const OpList& ops) {
  for (const Op& op : ops) {
    if (const auto* products = std::get_if<GroupedGemm>(&op.work)) {
      return products->groups;
    }
  }
  return 1;
}

class TaskPricer {
 public:
  TaskPricer(const StepContext& context, CommunicationLoad load)
      : context_(context),
        load_(load),
        host_(context.cluster.host, context.expansion.software, context.expansion.training) {}

  // Without what its host takes. `beside`: what it costs on the units that communication leaves.
  [[nodiscard]] StreamTask task(const Op& op, const OpCost& cost, const OpCost& beside) const {
    StreamTask task;
    task.duration = cost.duration;
    task.contended = cost.duration;
    task.axis = communication_axis(op);
    if (task.axis) {
      task.fabric = fabric_of(op, context_.cluster);
      task.stretch = stretch_beside_computation(op, cost, context_.cluster.device);
      return task;
    }
    task.energy = cost.energy;
    const bool streams = std::holds_alternative<MemoryBound>(op.work);
    task.sharing = streams ? UnitSharing::kTakesTurns : UnitSharing::kKeepsUnits;
    task.beside_copies = context_.cluster.device.libraries.copies;
    task.weight_gradient = gives_weights(op);
    if (load_.units > 0 || load_.hbm > BytesPerSecond{}) {
      const Hertz clock = cost.clock > Hertz{} ? cost.clock : context_.clock;
      task.demand = kernel_demand(cost, clock, context_.cluster.device);
      task.contended =
          contended_duration(cost, beside.duration, load_, task.demand, context_.cluster.device);
    }
    return task;
  }

  // Notes the operators in `noted`, if it is given.
  [[nodiscard]] TaskList tasks(const OpList& ops, std::vector<Op>* noted = nullptr,
                               Direction direction = Direction::kForward) const {
    const std::vector<OpCost> alone = costs_of(ops, context_);
    if (load_.units == 0) {
      return tasks(ops, {alone, alone}, noted, direction);
    }
    return tasks(ops, {alone, costs_of(ops, context_, load_.units)}, noted, direction);
  }
  // The same with costs that are kept.
  [[nodiscard]] TaskList tasks(const OpList& ops, KeptCosts& kept, Direction direction) const {
    const std::vector<OpCost>& alone = kept.of(ops, context_, 0);
    return tasks(ops, {alone, kept.of(ops, context_, load_.units)}, nullptr, direction);
  }

 private:
  // By operator.
  struct ListCosts {
    const std::vector<OpCost>& alone;
    const std::vector<OpCost>& beside;  // on the units that communication leaves
  };
  [[nodiscard]] TaskList tasks(const OpList& ops, const ListCosts& costs, std::vector<Op>* noted,
                               Direction direction) const {
    TaskList list;
    list.reserve(ops.size());
    const SoftwareSpec& software = context_.expansion.software;
    const bool partly =
        software.cuda_graph && software.cuda_graph_scope == CudaGraphScope::kWithoutExperts;
    const ExpertRange experts = partly ? expert_range(ops) : ExpertRange{};
    const std::int64_t of_experts = experts_of_products(ops);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool captured = software.cuda_graph && !experts.holds(i);
      const OpCost& cost = costs.alone[i];
      list.push_back(task(ops[i], cost, costs.beside[i]));
      list.back().host =
          captured ? Seconds{} : host_.launching(ops[i], cost, direction, of_experts);
      // The graph itself is one launch.
      const bool first = i == 0 || experts.holds(i - 1);
      if (partly && captured && first) {
        list.back().host = host_.replaying();
      }
      if (noted != nullptr) {
        list.back().op = static_cast<std::int32_t>(noted->size());
        noted->push_back(ops[i]);
      }
    }
    spread_contention(list);
    return list;
  }

  // Which kernel runs beside a communication differs from step to step and from rank to rank, so
  // each is slowed by what all of the list are on average.
  static void spread_contention(TaskList& list) {
    Seconds alone;
    Seconds contended;
    for (const StreamTask& task : list) {
      alone += task.axis ? Seconds{} : task.duration;
      contended += task.axis ? Seconds{} : task.contended;
    }
    if (!(contended > alone) || !(alone > Seconds{})) {
      return;
    }
    const double slower = contended / alone;
    for (StreamTask& task : list) {
      task.contended = task.axis ? task.contended : slower * task.duration;
    }
  }

  const StepContext& context_;
  CommunicationLoad load_;
  HostLaunches host_;
};

// --- layers -----------------------------------------------------------------------------------

class LayerPricer {
 public:
  // With costs that are kept, if there are any; `noted` is null then.
  LayerPricer(const StepContext& context, const CommunicationLoad& load, KeptCosts* kept,
              std::vector<Op>* noted)
      : context_(context),
        isolated_(context, {}),
        contended_(context, load),
        host_(context.cluster.host, context.expansion.software, context.expansion.training),
        kept_(kept),
        noted_(noted) {}

  [[nodiscard]] LayerTasks layer(const StageLayer& layer) const {
    LayerTasks tasks;
    tasks.forward = program(layer.ops->forward, Direction::kForward);
    tasks.full_recompute = program(layer.ops->full_recompute, Direction::kForward);
    wait_for_peers(layer, tasks.full_recompute);
    tasks.backward = program(layer.ops->recompute, Direction::kForward);
    const TaskList backward = program(layer.ops->backward, Direction::kBackward);
    tasks.backward.insert(tasks.backward.end(), backward.begin(), backward.end());
    const TaskList accumulate = contended_.tasks(layer.traffic.accumulate, noted_);
    tasks.backward.insert(tasks.backward.end(), accumulate.begin(), accumulate.end());
    tasks.gather = on_traffic_stream(layer.traffic.copy_in);
    const TaskList gathered = isolated_.tasks(layer.traffic.gather, noted_);
    tasks.gather.insert(tasks.gather.end(), gathered.begin(), gathered.end());
    tasks.copy_out = contended_.tasks(layer.traffic.copy_out, noted_);
    tasks.before_reduce = contended_.tasks(layer.traffic.before_reduce, noted_);
    tasks.reduce = isolated_.tasks(layer.traffic.reduce, noted_);
    const TaskList stored = on_traffic_stream(layer.traffic.after_reduce);
    tasks.reduce.insert(tasks.reduce.end(), stored.begin(), stored.end());
    tasks.replicas = isolated_.tasks(layer.traffic.replicas, noted_);
    tasks.stays_gathered = layer.stays_gathered;
    if (!tasks.backward.empty() && !context_.expansion.software.cuda_graph) {
      tasks.backward.front().host += host_.passing_over(layer.ops->forward, layer.ops->recompute);
    }
    fall_behind(tasks);
    add_hooks(layer, tasks);
    return tasks;
  }

 private:
  [[nodiscard]] TaskList program(const OpList& ops, Direction direction) const {
    const ParallelPlan& plan = context_.expansion.plan;
    const SoftwareSpec& software = context_.expansion.software;
    TaskList tasks = kept_ != nullptr ? contended_.tasks(ops, *kept_, direction)
                                      : contended_.tasks(ops, noted_, direction);
    if (!tasks.empty() && !software.cuda_graph) {
      tasks.front().host += host_.entering(ops, direction);
    }
    if (software.async_tp && plan.tp > 1) {
      overlap_tensor_parallel(ops, tasks, plan.tp);
    }
    if (direction == Direction::kForward) {
      host_waits(ops, tasks);
      host_waits_for_clamp(ops, tasks);
    }
    if (software.host.launches_block && !software.cuda_graph) {
      std::ranges::for_each(tasks, [](StreamTask& task) { task.host_waits = true; });
    }
    const bool delays = software.ep_overlap && software.delays_weight_gradients &&
                        direction == Direction::kBackward;
    if (!plan.passes_keys_round() && !delays) {
      overlap_exchanges(ops, tasks, direction);
      return tasks;
    }
    OpList order = ops;
    if (plan.passes_keys_round()) {
      overlap_ring_attention(order, tasks);
    }
    if (delays) {
      delay_weight_gradients(order, tasks);
    }
    overlap_exchanges(order, tasks, direction);
    return tasks;
  }

  // Beside a shared expert in its windows the second gathering of tokens blocks.
  void overlap_exchanges(const OpList& ops, TaskList& tasks, Direction direction) const {
    if (context_.expansion.software.shared_expert_overlap) {
      overlap_shared_expert(ops, tasks);
    } else if (direction == Direction::kBackward) {
      overlap_redispatch(ops, tasks);
    }
  }

  // Of two ranks whose compiled programs differ one runs the weight gradients of what follows
  // attention before it passes gradients of keys on, the other after it: the one waits there, the
  // other where recomputation gathers keys again, in traces of PyTorch 2.11 on two H200 8 to 15 ms
  // a layer of 8.2 ms of such gradients. Without recomputation they meet at one point only.
  void wait_for_peers(const StageLayer& layer, TaskList& recompute) const {
    if (context_.expansion.plan.cp == 1 ||
        context_.expansion.software.ring_attention != Implementation::kCompiled) {
      return;
    }
    const OpList& backward = layer.ops->backward;
    const auto attention = std::ranges::find_if(
        backward, [](const Op& op) { return std::holds_alternative<Attention>(op.work); });
    const TaskSums ahead = sums_of(contended_.tasks({backward.begin(), attention}));
    for (StreamTask& task : recompute) {
      if (task.axis == Axis::kContext) {
        task.duration += ahead.weight;
        return;
      }
    }
  }

  // A unit of FSDP runs its hooks where its parameters have arrived, in backward also where its
  // gradients leave.
  void add_hooks(const StageLayer& layer, LayerTasks& tasks) const {
    if (tasks.gather.empty()) {
      return;
    }
    (tasks.copy_out.empty() ? tasks.gather : tasks.copy_out).front().host += host_.unit_hooks();
    TaskList& leaving = tasks.before_reduce.empty() ? tasks.reduce : tasks.before_reduce;
    if (!leaving.empty()) {
      leaving.front().host += host_.backward_hooks();
    }
    // Reductions stand in the order of their concatenations; one behind the last of them is of a
    // unit of one rank.
    for (std::size_t i = 0; i < tasks.before_reduce.size(); ++i) {
      const OpList& reduce = layer.traffic.reduce;
      const std::int64_t ranks =
          i < reduce.size() ? std::get<Collective>(reduce[i].work).group.size : 1;
      tasks.before_reduce[i].host += host_.writing_table(layer.traffic.before_reduce[i], ranks);
    }
  }

  // The host waits for the kernel before the exchange, or for the exchange where the device counts
  // the rows (RowCounts). Backward knows from forward.
  void host_waits(const OpList& ops, TaskList& tasks) const {
    const ParallelPlan& plan = context_.expansion.plan;
    if (!context_.expansion.model.moe || cpu_sync_of(plan.exchange) != CpuSync::kBlocking) {
      return;
    }
    const bool counted_by_device =
        model_of(dispatcher_in_use(plan)).row_counts == RowCounts::kOnDevice;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].id == OpId::kMoeDispatch && communication_axis(ops[i]) == Axis::kExpert && i > 0) {
        tasks[counted_by_device ? i : i - 1].host_waits = true;
        tasks[i].host += host_.learning_rows();
      }
    }
  }

  // Megatron's clamped activation makes a tensor of its offset on the device each time it is
  // called, which the host waits for behind all that it has launched (fused_bias_geglu.py,
  // weighted_bias_quick_geglu_impl).
  void host_waits_for_clamp(const OpList& ops, TaskList& tasks) const {
    const SoftwareSpec& software = context_.expansion.software;
    if (software.cuda_graph && software.cuda_graph_scope == CudaGraphScope::kWhole) {
      return;
    }
    for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
      const auto* kernel = std::get_if<MemoryBound>(&ops[i].work);
      if (kernel != nullptr && kernel->kind == MemoryBoundKind::kClamp &&
          kernel->implementation == Implementation::kEager) {
        tasks[i].host_waits = true;
        tasks[i + 1].host += host_.reading_back();
      }
    }
  }

  // Hosts that wait for an exchange in a pass meet there, and the last of all those of the experts'
  // ranks sets the pace.
  void fall_behind(LayerTasks& tasks) const {
    const double slower = host_.behind_mean(context_.expansion.plan.expert_group().size);
    const auto waits = [](const StreamTask& task) { return task.host_waits; };
    const auto slow = [slower](TaskList& list) {
      std::ranges::for_each(list, [slower](StreamTask& task) { task.host = slower * task.host; });
    };
    if (std::ranges::any_of(tasks.forward, waits)) {
      slow(tasks.forward);
    }
    if (std::ranges::any_of(tasks.full_recompute, waits) ||
        std::ranges::any_of(tasks.backward, waits)) {
      slow(tasks.full_recompute);
      slow(tasks.backward);
    }
  }

  // FSDP2 copies on the stream that gathers, just before the gather, and on the one that reduces,
  // behind the reduction. Products and attention hold the registers of the units that they run on
  // until they end, so that blocks of copies wait; kernels that stream leave room, and both take
  // twice as long.
  [[nodiscard]] TaskList on_traffic_stream(const OpList& copies) const {
    TaskList tasks = isolated_.tasks(copies, noted_);
    for (StreamTask& task : tasks) {
      task.axis = Axis::kData;
      task.sharing = UnitSharing::kTakesTurns;
      task.stretch = {2.0, 2.0};
    }
    return tasks;
  }

  const StepContext& context_;
  TaskPricer isolated_;
  TaskPricer contended_;
  HostLaunches host_;
  KeptCosts* kept_;
  std::vector<Op>* noted_;
};

}  // namespace

KernelContext kernel_context(const StepContext& context, Detail detail) {
  const DeviceSpec& device = context.cluster.device;
  const Seconds launch =
      context.expansion.software.cuda_graph ? device.graph_launch_latency : device.launch_latency;
  KernelContext kernel{device, context.clock, device.compute_units, launch, detail};
  kernel.picks_kernel = true;
  kernel.captured = context.expansion.software.cuda_graph ? device.collectives.captured : Seconds{};
  return kernel;
}

std::vector<OpCost> costs_of(const OpList& ops, const StepContext& context,
                             std::int64_t held_units) {
  const KernelContext kernel = on_units_left(kernel_context(context), held_units);
  std::vector<OpCost> costs;
  costs.reserve(ops.size());
  for (const Op& op : ops) {
    const bool communicates = held_units > 0 && communication_axis(op);
    costs.push_back(communicates ? OpCost{} : context.cost.cost(op, kernel, context.cluster));
  }
  return costs;
}

TaskList price(const OpList& ops, const StepContext& context, const CommunicationLoad& load) {
  return TaskPricer(context, load).tasks(ops);
}

LayerSums sums_of(const LayerTasks& layer) {
  return {sums_of(layer.forward), sums_of(layer.full_recompute), sums_of(layer.backward)};
}

LayerTasks price_layer(const StageLayer& layer, const StepContext& context,
                       const CommunicationLoad& load, std::vector<Op>* ops) {
  return LayerPricer(context, load, nullptr, ops).layer(layer);
}

LayerTasks price_layer(const StageLayer& layer, const StepContext& context,
                       const CommunicationLoad& load, KeptCosts& kept) {
  return LayerPricer(context, load, &kept, nullptr).layer(layer);
}

Seconds pipeline_transfer(const StepContext& context) {
  const ExpansionContext& expansion = context.expansion;
  if (expansion.plan.pp == 1) {
    return {};
  }
  const auto duration = [&context](const Collective& part) {
    return context.cost.collective->collective(part, {context.cluster}).duration;
  };
  const std::optional<Collective> gather = pipeline_gather(expansion);
  return duration(pipeline_send(expansion)) + (gather ? duration(*gather) : Seconds{});
}

Fabric pipeline_fabric(const StepContext& context) {
  return fabric_of({OpId::kPipelineSend, pipeline_send(context.expansion), Block::kPipeline},
                   context.cluster);
}

StepTasks price_step(const StepOperators& operators, const StepContext& context,
                     std::vector<Op>* ops) {
  CommunicationLoad load;
  for (const StageLayer& layer : operators.layers) {
    load = load.combined(layer_load(layer, context));
  }
  StepTasks tasks;
  tasks.layers.reserve(operators.layers.size());
  for (const StageLayer& layer : operators.layers) {
    tasks.layers.push_back(price_layer(layer, context, load, ops));
    tasks.sums.push_back(sums_of(tasks.layers.back()));
  }
  const TaskPricer isolated(context, {});
  tasks.optimizer.reserve(operators.optimizer.size());
  for (const UpdateOps& update : operators.optimizer) {
    std::vector<RepeatedTasks>& own = tasks.optimizer.emplace_back();
    for (const RepeatedOps& part : update) {
      own.push_back({isolated.tasks(part.ops, ops), part.times});
    }
  }
  return tasks;
}

CommunicationLoad layer_load(const StageLayer& layer, const StepContext& context) {
  MeanLoad mean(context);
  for (const OpList* ops : {&layer.traffic.gather, &layer.traffic.reduce}) {
    std::for_each(ops->begin(), ops->end(), [&](const Op& op) { mean.add(op); });
  }
  if (context.expansion.plan.passes_keys_round()) {
    for (const OpList* ops : {&layer.ops->forward, &layer.ops->backward}) {
      for (const std::size_t send : sends_beside_steps(*ops)) {
        mean.add((*ops)[send]);
      }
    }
  }
  if (context.expansion.software.shared_expert_overlap) {
    for (const std::size_t exchange : shared_expert_windows(layer.ops->forward)) {
      mean.add(layer.ops->forward[exchange]);
    }
    return mean.load();
  }
  for (const Op& op : layer.ops->backward) {
    if (op.id == OpId::kMoeRedispatch) {
      mean.add_copy(op);
    }
  }
  return mean.load();
}

std::size_t KeptCosts::Hash::operator()(const Key& key) const {
  const auto& [ops, clock, held_units] = key;
  return hash_of_values(std::hash<const OpList*>{}(ops), clock, held_units);
}

const std::vector<OpCost>& KeptCosts::of(const OpList& ops, const StepContext& context,
                                         std::int64_t held_units) {
  const auto [known, fresh] = costs_.try_emplace({&ops, context.clock, held_units});
  if (fresh) {
    known->second = costs_of(ops, context, held_units);
  }
  return known->second;
}

std::shared_ptr<LayerWork> LayerWorks::of(const ExpansionContext& context) {
  LayerDivision division = layer_division(context);
  const auto known =
      std::ranges::find(works_, division, [](const auto& entry) { return entry.first; });
  if (known == works_.end()) {
    works_.emplace_front(std::move(division), std::make_shared<LayerWork>());
    if (works_.size() > kMostWorks) {
      works_.pop_back();
    }
  } else {
    works_.splice(works_.begin(), works_, known);
  }
  return works_.front().second;
}

}  // namespace stepcast
