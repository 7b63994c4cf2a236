// SPDX-License-Identifier: Apache-2.0
#include "stepcast/parallel/memory_footprint.hpp"

#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/parallel/activation_inventory.hpp"
#include "stepcast/parallel/exchange_buffers.hpp"
#include "stepcast/parallel/pipeline_order.hpp"

namespace stepcast {
namespace {

double ranks(std::int64_t count) { return static_cast<double>(count); }

// Activations of one micro-batch in stage `index`, what recomputation leaves of them, and the
// largest set that recomputing one layer brings back for a moment.
struct StageActivations {
  Bytes kept;
  Bytes transient;
};

StageActivations stage_activations(const ExpansionContext& context, std::size_t index) {
  const RecomputeSpec& recompute = context.training.recompute;
  const std::vector<KindCount> kinds = stage_kinds(context.model, context.plan, index);
  StageActivations result;
  std::int64_t layers = 0;
  for (const KindCount& entry : kinds) {
    layers += entry.layers;
  }
  std::int64_t recomputed = fully_recomputed_layers(recompute, layers);
  const bool uniform = recompute.method == RecomputeMethod::kUniform;
  const double inputs_kept = uniform ? 1.0 / ranks(recompute.layers) : 1.0;
  for (const KindCount& entry : kinds) {
    const Bytes whole = saved_activations(context, entry.kind);
    const std::int64_t again = std::min(recomputed, entry.layers);
    recomputed -= again;
    result.kept += ranks(entry.layers - again) * whole;
    result.kept += ranks(again) * inputs_kept * layer_input(context);
    if (again > 0) {
      result.transient = max(result.transient, (uniform ? ranks(recompute.layers) : 1.0) * whole);
    }
  }
  if (context.plan.stages[index].loss) {
    result.transient = max(result.transient, saved_by_loss(context));
  }
  return result;
}

// The most that micro-batches in flight hold on `rank`, walking through its schedule.
struct InFlight {
  Bytes activations;
  double micro_batches = 0.0;
};

InFlight peak_in_flight(const RankOrder& order, const std::vector<HeldStage>& held,
                        const ParallelPlan& plan, const std::vector<StageActivations>& stages) {
  const auto of_chunk = [&](std::int32_t chunk) -> const StageActivations& {
    return stages[held[static_cast<std::size_t>(chunk)].stage];
  };
  InFlight now;
  InFlight peak;
  for (const PipelineTask& task : order) {
    const ActivationChange change = activation_change(task);
    Bytes transient = of_chunk(task.chunk).transient;
    if (change.taken != kNoChunk) {
      now.activations += of_chunk(change.taken).kept;
      now.micro_batches += 1.0 / ranks(plan.vpp);
      peak.micro_batches = std::max(peak.micro_batches, now.micro_batches);
    }
    if (task.kind == TaskKind::kOverlapped) {
      transient += of_chunk(task.backward_chunk).transient;
    }
    peak.activations = max(peak.activations, now.activations + transient);
    if (change.returned != kNoChunk) {
      now.activations -= of_chunk(change.returned).kept;
      now.micro_batches -= 1.0 / ranks(plan.vpp);
    }
  }
  return peak;
}

// Weights gathered in 16 bits: with resharding the running layer and the prefetched one, and the
// ends, which stay; without it everything.
Bytes gathered_weights(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  if (plan.zero < 3 || plan.replicas() == 1) {
    return {};
  }
  constexpr Bytes kHalf{2};
  double held = 0.0;
  for (const HeldStage& stage : stages_held(plan, rank)) {
    const std::size_t index = stage.stage;
    const StageParameters parameters = stage_parameters(context.model, plan, index);
    held += parameters.ends.dense;
    if (!plan.fsdp_reshard) {
      held += parameters.layers.dense;
      continue;
    }
    double largest = 0.0;
    for (const KindCount& entry : stage_kinds(context.model, plan, index)) {
      const ParameterList layer = layer_parameters(context.model, entry.kind);
      const LocalParameters local = local_parameters(layer, plan);
      largest = std::max(largest, local.dense + (plan.edp > 1 ? local.expert : 0.0));
    }
    held += 2.0 * largest;
  }
  return held * kHalf;
}

StageMemory rank_memory(const ExpansionContext& context, std::int64_t rank, const RankOrder& order,
                        const std::vector<StageActivations>& activations) {
  const ParallelPlan& plan = context.plan;
  const std::vector<HeldStage> held = stages_held(plan, rank);
  LocalParameters parameters;
  for (const HeldStage& stage : held) {
    parameters += stage_parameters(context.model, plan, stage.stage).all();
  }
  const StateMemory states = state_memory(parameters, plan, context.software);
  StageMemory memory;
  memory.rank = rank;
  memory.parameters = states.parameters;
  memory.gradients = states.gradients;
  memory.optimizer = states.optimizer;
  memory.buffers = gathered_weights(context, rank) + total(exchange_buffers(context));
  const InFlight in_flight = peak_in_flight(order, held, plan, activations);
  memory.activations = in_flight.activations;
  memory.in_flight = in_flight.micro_batches;
  const bool gradients_follow = plan.zero == 3 && plan.micro_batches == 1 && plan.pp == 1;
  if (gradients_follow) {
    // Gradients appear layer by layer while activations go: the larger of the two is the peak.
    (memory.activations < memory.gradients ? memory.activations : memory.gradients) = Bytes{};
  }
  return memory;
}

}  // namespace

std::int64_t fully_recomputed_layers(const RecomputeSpec& recompute, std::int64_t layers) {
  if (recompute.kind != RecomputeKind::kFull) {
    return 0;
  }
  return recompute.method == RecomputeMethod::kUniform ? layers
                                                       : std::min(recompute.layers, layers);
}

StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software) {
  const StateBytes& bytes = software.states;
  const double replicas = ranks(plan.replicas());
  const auto shared = [&](int stage, bool expert) {
    if (plan.zero < stage) {
      return 1.0;
    }
    if (expert) {
      return ranks(plan.edp);
    }
    return plan.zero == 3 ? ranks(plan.fsdp) : replicas;
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
  std::vector<StageActivations> activations;
  activations.reserve(context.plan.stages.size());
  for (std::size_t i = 0; i < context.plan.stages.size(); ++i) {
    activations.push_back(stage_activations(context, i));
  }
  const std::vector<RankOrder> orders =
      pipeline_orders(context.plan.schedule, pipeline_shape(context.plan));
  std::vector<StageMemory> stages;
  for (std::int64_t rank = 0; rank < context.plan.pp; ++rank) {
    const RankOrder& order = orders[static_cast<std::size_t>(rank)];
    stages.push_back(rank_memory(context, rank, order, activations));
  }
  return stages;
}

std::vector<std::string> memory_reasons(const std::vector<StageMemory>& stages,
                                        const DeviceSpec& device) {
  const Bytes usable = device.hbm.capacity - kFrameworkReserve;
  std::vector<std::string> reasons;
  for (const StageMemory& stage : stages) {
    if (stage.total() > usable) {
      reasons.push_back("pipeline rank " + std::to_string(stage.rank) + " needs " +
                        readable(stage.total()) + " of memory; " + device.name + " has " +
                        readable(device.hbm.capacity) + ", less " + readable(kFrameworkReserve) +
                        " kept for the framework");
    }
  }
  return reasons;
}

}  // namespace stepcast
