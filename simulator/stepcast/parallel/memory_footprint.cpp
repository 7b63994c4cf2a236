// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/memory_footprint.hpp"

#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/parallel/exchange_buffers.hpp"
#include "stepcast/parallel/pipeline_order.hpp"
#include "stepcast/parallel/stage_budget.hpp"

namespace stepcast {
namespace {

constexpr Bytes kHalf{2};

double real(std::int64_t count) { return static_cast<double>(count); }

// A (virtual) stage of the rank, and how far its backwards have come.
struct WalkedStage {
  std::size_t index = 0;
  StageBudget budget;
  Bytes gradients;  // of all its weights, as the plan shards them
  bool has_gradients = false;
};

// Whether the dispatcher's buffers outlive a layer: those of alltoall and allgather are tensors.
bool lasting_buffers(const ParallelPlan& plan) {
  const Dispatcher dispatcher = dispatcher_in_use(plan);
  return dispatcher != Dispatcher::kAllToAll && dispatcher != Dispatcher::kAllGather;
}

// Walks through a rank's schedule and keeps the moment with the highest total.
class RankWalk {
 public:
  RankWalk(const ExpansionContext& context, std::int64_t rank) : context_(context) {
    held_.rank = rank;
    for (const HeldStage& stage : stages_held(plan(), rank)) {
      add_stage(stage.stage);
    }
    for (const WalkedStage& stage : stages_) {
      held_.gathered += stage.budget.gathered;
    }
    const Bytes exchange = total(exchange_buffers(context));
    (lasting_buffers(plan()) ? held_.exchange : passing_exchange_) = exchange;
    held_.outside = outside_allocator();
  }

  StageMemory peak(const RankOrder& order) {
    for (const PipelineTask& task : order) {
      const ActivationChange change = activation_change(task);
      if (change.taken != kNoChunk) {
        forward(stages_[static_cast<std::size_t>(change.taken)]);
      }
      if (change.returned != kNoChunk) {
        backward(stages_[static_cast<std::size_t>(change.returned)]);
      }
    }
    optimizer();
    // The peaks of both pools: they share nothing.
    peak_.reserved = (1.0 + rules().fragmentation) * own_peak_ + streams_peak_;
    return peak_;
  }

 private:
  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const MemoryRules& rules() const { return context_.software.memory; }

  void add_stage(std::size_t index) {
    WalkedStage stage;
    stage.index = index;
    stage.budget = stage_budget(context_, index);
    const LocalParameters parameters = stage_parameters(context_.model, plan(), index).all();
    const StateMemory states = state_memory(parameters, plan(), context_.software);
    held_.parameters += states.parameters;
    held_.optimizer += states.optimizer;
    held_.gradients += dummy_gradients(index);
    all_parameters_ += parameters.total();
    stage.gradients = max(states.gradients, stage.budget.full_gradients) +
                      parameters.total() * rules().gradient_copy;
    if (rules().gradients_stay) {
      held_.gradients += stage.gradients;
      stage.has_gradients = true;
    }
    if (rules().receives_ahead && plan().pp > 1) {
      const StageContent& content = plan().stages[index];
      const double sides = (content.embedding ? 0.0 : 1.0) + (content.loss ? 0.0 : 1.0);
      held_.received +=
          sides * real(plan().micro_batches * context_.sequence_tokens() * context_.model.hidden) *
          kHalf;
    }
    stages_.push_back(stage);
  }

  // One of each distinct weight of a layer, cached where fused accumulation has no gradient to
  // return. Experts of a layer are alike.
  [[nodiscard]] Bytes dummy_gradients(std::size_t index) const {
    double elements = 0.0;
    for (const KindCount& entry : stage_kinds(context_.model, plan(), index)) {
      double layer = 0.0;
      for (const ParameterTensor& tensor : layer_parameters(context_.model, entry.kind)) {
        layer += local_elements(tensor, plan()) / std::max(1.0, real(tensor.instances / plan().ep));
      }
      elements = std::max(elements, layer);
    }
    return elements / real(plan().vpp) * rules().dummy_gradients;
  }

  [[nodiscard]] Bytes outside_allocator() const {
    double groups = 0.0;
    for (const std::int64_t size : {plan().tp, plan().cp, plan().pp, plan().ep, plan().dp}) {
      groups += size > 1 ? 1.0 : 0.0;
    }
    return rules().context + groups * rules().communicator;
  }

  void forward(WalkedStage& stage) {
    const StageBudget& budget = stage.budget;
    held_.activations += budget.kept;
    in_flight_ += 1.0 / real(plan().vpp);
    peak_in_flight_ = std::max(peak_in_flight_, in_flight_);
    StageMemory now = held_;
    if (!plan().stages[stage.index].loss) {
      now.gathered += budget.gathered_layers;
      now.exchange += passing_exchange_;
      return consider(now, "forward");
    }
    now.gathered += budget.gathered_head;
    StageMemory head = now;
    now.loss = budget.loss + kept_logits_;
    consider(now, "loss");
    kept_logits_ += rules().keeps_logits && plan().pp > 1 ? budget.logits : Bytes{};
    head.loss = budget.head_backward + kept_logits_;
    consider(head, "head backward");
  }

  void backward(WalkedStage& stage) {
    const StageBudget& budget = stage.budget;
    StageMemory now = held_;
    now.activations += budget.recomputed;
    now.workspace = budget.workspace;
    now.gathered += budget.gathered_layers;
    now.reduced = budget.reduced_layer;
    now.loss = kept_logits_;
    now.exchange += passing_exchange_;
    consider(now, "backward");
    held_.activations -= budget.kept;
    in_flight_ -= 1.0 / real(plan().vpp);
    if (!stage.has_gradients) {
      held_.gradients += stage.gradients;
      stage.has_gradients = true;
    }
    now = held_;
    now.activations += budget.last_kept + budget.recomputed;
    now.workspace = budget.workspace;
    now.gathered += budget.gathered_layers;
    now.reduced = budget.reduced_layer;
    now.loss = kept_logits_;
    now.exchange += passing_exchange_;
    consider(now, "first layer");
    now = held_;
    now.reduced = budget.reduced_ends;
    now.loss = kept_logits_;
    consider(now, "embedding");
  }

  void optimizer() {
    StageMemory now = held_;
    now.loss = 2.0 * kept_logits_;  // one by one, and joined
    now.gathered =
        plan().zero == 1 || plan().zero == 2 ? all_parameters_ * rules().gathered_copy : Bytes{};
    consider(now, "optimizer");
  }

  void consider(StageMemory now, std::string_view moment) {
    const bool sharded = plan().zero == 3 && plan().replicas() > 1;
    Bytes streams = now.gathered + now.reduced;
    streams += sharded && !rules().gradients_stay ? now.gradients : Bytes{};
    streams_peak_ = max(streams_peak_, streams);
    own_peak_ = max(own_peak_, now.total() - streams);
    now.in_flight = peak_in_flight_;
    now.moment = moment;
    if (now.total() > peak_.total()) {
      peak_ = now;
    }
    peak_.in_flight = peak_in_flight_;
  }

  const ExpansionContext& context_;
  std::vector<WalkedStage> stages_;
  StageMemory held_;
  StageMemory peak_;
  Bytes kept_logits_;
  Bytes passing_exchange_;  // rows that live while a layer runs
  Bytes own_peak_;          // of the stream that computes
  Bytes streams_peak_;      // of those that communicate
  double all_parameters_ = 0.0;
  double in_flight_ = 0.0;
  double peak_in_flight_ = 0.0;
};

Bytes used(const StageMemory& stage) { return stage.total() + stage.outside; }

}  // namespace

std::string_view name(MemoryVerdict verdict) {
  switch (verdict) {
    case MemoryVerdict::kFits:
      return "fits";
    case MemoryVerdict::kTight:
      return "tight";
    case MemoryVerdict::kDoesNotFit:
      return "does not fit";
  }
  return "";
}

StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software) {
  const StateBytes& bytes = software.states;
  const double replicas = real(plan.replicas());
  const auto shared = [&](int stage, bool expert) {
    if (plan.zero < stage) {
      return 1.0;
    }
    if (expert) {
      return real(plan.edp);
    }
    return plan.zero == 3 || plan.fsdp > 1 ? real(plan.fsdp) : replicas;
  };
  StateMemory memory;
  for (const bool expert : {false, true}) {
    const double elements = expert ? parameters.expert : parameters.dense;
    Bytes parameter = bytes.parameter;
    Bytes optimizer = bytes.optimizer;
    if (plan.zero == 3 && software.fsdp_parameters_fp32) {
      // The sharded fp32 parameters are the master copy themselves.
      parameter = Bytes(4);
      optimizer = max(bytes.optimizer - Bytes(4), Bytes{});
    }
    memory.parameters += elements / shared(3, expert) * parameter;
    memory.gradients += elements / shared(2, expert) * bytes.gradient;
    memory.optimizer += elements / shared(1, expert) * optimizer;
  }
  return memory;
}

std::vector<StageMemory> memory_by_stage(const ExpansionContext& context) {
  std::vector<StageMemory> stages;
  const ParallelPlan& plan = context.plan;
  const std::vector<RankOrder> orders = pipeline_orders(plan.schedule, pipeline_shape(plan));
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    stages.push_back(RankWalk(context, rank).peak(orders[static_cast<std::size_t>(rank)]));
  }
  return stages;
}

void judge_memory(std::vector<StageMemory>& stages, const DeviceSpec& device) {
  const Bytes capacity = device.hbm.capacity;
  for (StageMemory& stage : stages) {
    const bool tight =
        stage.reserved + stage.outside > capacity || used(stage) > kTightShare * capacity;
    stage.verdict = used(stage) > capacity ? MemoryVerdict::kDoesNotFit
                    : tight                ? MemoryVerdict::kTight
                                           : MemoryVerdict::kFits;
  }
}

std::vector<std::string> memory_reasons(const std::vector<StageMemory>& stages,
                                        const DeviceSpec& device) {
  std::vector<std::string> reasons;
  for (const StageMemory& stage : stages) {
    if (used(stage) > device.hbm.capacity) {
      reasons.push_back("pipeline rank " + std::to_string(stage.rank) + " needs " +
                        readable(stage.total()) + " of memory; " + device.name + " has " +
                        readable(device.hbm.capacity) + ", less " + readable(stage.outside) +
                        " for the driver and communicators");
    }
  }
  return reasons;
}

}  // namespace stepcast
