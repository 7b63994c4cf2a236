// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/data_parallel.hpp"

#include <cstdlib>

#include "stepcast/parallel/pipeline_stages.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {
namespace {

constexpr Bytes kHalf{2};

// One collective for the dense parameters and one for the experts of a stage.
class ShardTraffic {
 public:
  ShardTraffic(const ExpansionContext& context, OpList& ops) : context_(context), ops_(ops) {}

  void add(std::string_view name, CollectiveOp op, const LocalParameters& parameters, Bytes element,
           bool sharded) {
    const ParallelPlan& plan = context_.plan;
    add_one(name, op, parameters.dense * element, sharded ? plan.shard_group() : plan.dp_group());
    add_one(name, op, parameters.expert * element, plan.edp_group());
  }
  void add_replicas(const LocalParameters& parameters, Bytes element) {
    const ParallelPlan& plan = context_.plan;
    add_one("dp.replicas", CollectiveOp::kAllReduce,
            parameters.dense / static_cast<double>(plan.fsdp) * element, plan.replicate_group());
  }
  // Of what this rank keeps of its gradients, with the pipeline rank that holds the same stages.
  void add_mirror(const LocalParameters& parameters, Bytes element, std::int64_t rank) {
    const ParallelPlan& plan = context_.plan;
    const bool divided = plan.zero > 0;
    const auto dense = static_cast<double>(plan.zero == 3 ? plan.fsdp : plan.replicas());
    const double kept = parameters.dense / (divided ? dense : 1.0) +
                        parameters.expert / (divided ? static_cast<double>(plan.edp) : 1.0);
    const std::int64_t apart = std::abs(plan.pp - 1 - 2 * rank);
    add_one("dp.mirror", CollectiveOp::kAllReduce, kept * element,
            {2, plan.tp * plan.cp * plan.dp * apart});
  }

 private:
  void add_one(std::string_view name, CollectiveOp op, Bytes bytes, ProcessGroup group) {
    if (group.size > 1 && bytes > Bytes{}) {
      ops_.push_back({name, Collective{op, bytes, group, Axis::kData}});
    }
  }

  const ExpansionContext& context_;
  OpList& ops_;
};

// The copies that PyTorch's FSDP2 makes around its collectives: of its own fp32 shard into 16 bits
// before a gather, of the gathered buffer into the parameters, and of gradients into one fp32
// buffer before they are reduced.
class ShardCopies {
 public:
  ShardCopies(const ExpansionContext& context, const LocalParameters& parameters)
      : plan_(context.plan),
        parameters_(parameters),
        copies_(context.software.fsdp_parameters_fp32) {}

  void around_gather(OpList& ops) const {
    add("fsdp.copy_in", MemoryBoundKind::kCast, Implementation::kEager, true, ops);
    add("fsdp.copy_out", MemoryBoundKind::kCopy, Implementation::kFused, false, ops);
  }
  void before_reduce(OpList& ops) const {
    add("fsdp.concatenate", MemoryBoundKind::kConcatenate, Implementation::kFused, false, ops);
  }

 private:
  void add(std::string_view name, MemoryBoundKind kind, Implementation implementation, bool shard,
           OpList& ops) const {
    add_one(name, kind, implementation, parameters_.dense, plan_.shard_group().size, shard, ops);
    add_one(name, kind, implementation, parameters_.expert, plan_.edp_group().size, shard, ops);
  }
  void add_one(std::string_view name, MemoryBoundKind kind, Implementation implementation,
               double parameters, std::int64_t ranks, bool shard, OpList& ops) const {
    const double moved = shard ? parameters / static_cast<double>(ranks) : parameters;
    if (copies_ && ranks > 1 && moved >= 1.0) {
      ops.push_back({name, MemoryBound{kind, 1, static_cast<std::int64_t>(moved), kHalf,
                                       Direction::kForward, implementation}});
    }
  }

  const ParallelPlan& plan_;
  const LocalParameters& parameters_;
  bool copies_;
};

LocalParameters rank_parameters(const ExpansionContext& context, std::int64_t rank) {
  LocalParameters sum;
  for (const HeldStage& held : stages_held(context.plan, rank)) {
    sum += stage_parameters(context.model, context.plan, held.stage).all();
  }
  return sum;
}

}  // namespace

std::int64_t parameter_gathers(const ParallelPlan& plan, const TrainingRecipe& training,
                               const SoftwareSpec& software) {
  if (plan.zero < 3) {
    return 0;
  }
  const bool again =
      training.recompute.kind == RecomputeKind::kFull && software.fsdp_gathers_for_recompute;
  return plan.fsdp_reshard ? (again ? 3 : 2) : 1;
}

MicroBatchCollectives micro_batch_collectives(const ExpansionContext& context, std::size_t stage) {
  const ParallelPlan& plan = context.plan;
  MicroBatchCollectives collectives;
  const LocalParameters parameters = stage_parameters(context.model, plan, stage).all();
  ShardTraffic forward(context, collectives.forward);
  ShardTraffic backward(context, collectives.backward);
  if (plan.zero == 3 && plan.fsdp_reshard) {
    const ShardCopies copies(context, parameters);
    copies.around_gather(collectives.forward);
    forward.add("fsdp.gather", CollectiveOp::kAllGather, parameters, kHalf, true);
    const std::int64_t gathers = parameter_gathers(plan, context.training, context.software);
    for (std::int64_t i = 1; i < gathers; ++i) {
      copies.around_gather(collectives.backward);
      backward.add("fsdp.gather", CollectiveOp::kAllGather, parameters, kHalf, true);
    }
    copies.before_reduce(collectives.backward);
    backward.add("fsdp.reduce", CollectiveOp::kReduceScatter, parameters,
                 context.software.gradient_reduce, true);
  } else if (plan.zero == 2) {
    backward.add("zero2.reduce", CollectiveOp::kReduceScatter, parameters,
                 context.software.gradient_reduce, false);
  }
  return collectives;
}

OpList step_collectives(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  const Bytes gradient = context.software.gradient_reduce;
  const LocalParameters parameters = rank_parameters(context, rank);
  OpList ops;
  ShardTraffic traffic(context, ops);
  switch (plan.zero) {
    case 0:
      traffic.add("dp.reduce", CollectiveOp::kAllReduce, parameters, gradient, false);
      break;
    case 1:
      traffic.add("dp.reduce", CollectiveOp::kReduceScatter, parameters, gradient, false);
      traffic.add("dp.gather", CollectiveOp::kAllGather, parameters, kHalf, false);
      break;
    case 2:
      traffic.add("dp.gather", CollectiveOp::kAllGather, parameters, kHalf, false);
      break;
    default:
      if (!plan.fsdp_reshard) {
        traffic.add("fsdp.gather", CollectiveOp::kAllGather, parameters, kHalf, true);
        traffic.add("fsdp.reduce", CollectiveOp::kReduceScatter, parameters, gradient, true);
      }
      traffic.add_replicas(parameters, gradient);
  }
  if (placement_of(plan.schedule) == StagePlacement::kBidirectional) {
    traffic.add_mirror(parameters, gradient, rank);
  }
  return ops;
}

OpList optimizer_ops(const ExpansionContext& context, std::int64_t rank) {
  const ParallelPlan& plan = context.plan;
  const LocalParameters parameters = rank_parameters(context, rank);
  double elements = parameters.total();
  if (plan.zero > 0) {
    const std::int64_t shards = plan.zero == 3 ? plan.fsdp : plan.replicas();
    elements = parameters.dense / static_cast<double>(shards) +
               parameters.expert / static_cast<double>(plan.edp);
  }
  const auto count = static_cast<std::int64_t>(elements);
  // Moments of 2 bytes each stand for a step in 16 bits throughout.
  const bool half = context.software.states.optimizer <= 2.0 * kHalf;
  return {{"optimizer", MemoryBound{MemoryBoundKind::kOptimizer, 1, count, half ? kHalf : Bytes(4),
                                    Direction::kForward, context.software.optimizer}}};
}

}  // namespace stepcast
