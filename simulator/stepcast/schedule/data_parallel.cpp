// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/data_parallel.hpp"

#include <algorithm>
#include <limits>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/layer/local_tensors.hpp"
#include "stepcast/pipeline/pipeline_stages.hpp"

namespace stepcast {
namespace {

// The parameters of a bucket, and the layers that there are to fill it. It ends with its chunk of a
// pipeline, too, and Megatron makes one bucket of a chunk where nothing overlaps; that is not
// counted, since plans that differ in their pipeline alone share the work of their layers.
struct BucketSize {
  double parameters = 0.0;
  double layers = 1.0;
  double least = 1.0;  // of a layer

  // Layers of so many parameters each that travel in one call.
  [[nodiscard]] double layers_in_one(double of_layer) const {
    return of_layer > 0.0 ? std::clamp(parameters / of_layer, least, layers) : 1.0;
  }
};

bool all_reduces_whole(const ParallelPlan& plan, const SoftwareSpec& software) {
  return software.zero_all_reduces && plan.zero == 1;
}

BucketSize ddp_bucket(const ExpansionContext& context, std::optional<LayerKind> kind) {
  constexpr Bytes kLeast{25.0 * 1024 * 1024};
  const double least = kLeast / context.software.states.parameter;
  const double layers = real(context.model.layers);
  if (!kind) {
    return {least, layers};
  }
  const std::vector<double> tensors = local_tensors(context, *kind);
  return tensors.empty() ? BucketSize{} : BucketSize{mean_ddp_bucket(tensors, least), layers, 0.0};
}

BucketSize bucket_size(const ExpansionContext& context, std::optional<LayerKind> kind) {
  const ParallelPlan& plan = context.plan;
  if (all_reduces_whole(plan, context.software)) {
    return {std::numeric_limits<double>::infinity(), real(context.model.layers)};
  }
  if (context.software.gradient_buckets == GradientBuckets::kDdp && plan.zero == 0) {
    return ddp_bucket(context, kind);
  }
  if (context.software.gradient_buckets != GradientBuckets::kByRanks || plan.zero == 3) {
    return {};
  }
  constexpr double kLeast = 40e6;
  constexpr double kARank = 1e6;
  return {std::max(kLeast, kARank * real(plan.replicas())), real(context.model.layers)};
}

// One collective for the dense parameters and one for the experts of a layer.
class ShardTraffic {
 public:
  ShardTraffic(const ParallelPlan& plan, const LocalParameters& parameters)
      : plan_(plan), parameters_(parameters.trained()), all_(parameters) {}

  // Of what is trained, of what is frozen with `frozen` bytes an element, and of what of that is
  // packed with `packed`.
  struct Elements {
    Bytes trained;
    Bytes frozen;
    Bytes packed;
  };
  void gather_all(OpId id, const Elements& bytes, OpList& ops) const {
    const auto moved = [&bytes](double trained, double frozen, double packed) {
      return trained * bytes.trained + (frozen - packed) * bytes.frozen + packed * bytes.packed;
    };
    add_one(id, CollectiveOp::kAllGather,
            moved(parameters_.dense, all_.frozen_dense, all_.packed_dense), plan_.sharing_group(),
            ops);
    if (plan_.fsdp_experts) {
      add_one(id, CollectiveOp::kAllGather,
              moved(parameters_.expert, all_.frozen_expert, all_.packed_expert), plan_.edp_group(),
              ops);
    }
  }

  // `buckets`: how many parameters travel in one call.
  void add(OpId id, CollectiveOp op, Bytes element, OpList& ops,
           const BucketSize& buckets = {}) const {
    add_one(id, op, parameters_.dense * element, plan_.sharing_group(), ops,
            buckets.layers_in_one(parameters_.dense));
    if (plan_.fsdp_experts) {
      add_one(id, op, parameters_.expert * element, plan_.edp_group(), ops,
              buckets.layers_in_one(parameters_.expert));
    }
  }
  void add_replicas(Bytes element, OpList& ops) const {
    add_one(OpId::kDpReplicas, CollectiveOp::kAllReduce,
            parameters_.dense / static_cast<double>(plan_.fsdp) * element, plan_.replicate_group(),
            ops);
    if (!plan_.fsdp_experts) {
      add_one(OpId::kDpReplicas, CollectiveOp::kAllReduce, parameters_.expert * element,
              plan_.edp_group(), ops);
    }
  }
  // Of what this rank keeps of its gradients, with the pipeline rank that holds the same stages.
  // A stage lies on ranks r and p - 1 - r, on average half the pipeline apart.
  void add_mirror(Bytes element, OpList& ops) const {
    const bool divided = plan_.zero > 0;
    const auto dense = static_cast<double>(plan_.shards());
    const double kept =
        parameters_.dense / (divided ? dense : 1.0) +
        parameters_.expert / (divided ? static_cast<double>(plan_.expert_shards()) : 1.0);
    add_one(OpId::kDpMirror, CollectiveOp::kAllReduce, kept * element, plan_.mirror_group(), ops);
  }

 private:
  static void add_one(OpId id, CollectiveOp op, Bytes bytes, ProcessGroup group, OpList& ops,
                      double joined = 1.0) {
    if (group.size > 1 && bytes > Bytes{}) {
      Collective call{op, bytes, group, Axis::kData};
      call.joined = joined;
      ops.push_back({id, call, Block::kDataParallel});
    }
  }

  const ParallelPlan& plan_;
  LocalParameters parameters_;  // that are trained
  LocalParameters all_;
};

// What moves parameters and gradients between where they lie and the buffers of the collectives
// (ShardLayout).
class ShardCopies {
 public:
  ShardCopies(const ExpansionContext& context, const LocalParameters& parameters)
      : plan_(context.plan),
        parameters_(parameters),
        trained_(parameters.trained()),
        casts_(context.software.fsdp_parameters_fp32),
        lone_experts_(context.software.fsdp_wraps_lone_experts && context.plan.fsdp_experts &&
                      context.plan.shard_group().size > 1 && context.plan.expert_shards() == 1),
        gradient_(context.software.gradient_reduce),
        lists_(context.software.fsdp_layout == ShardLayout::kPerParameter) {}

  void around_gather(LayerTraffic& traffic) const {
    if (casts_) {
      add({OpId::kFsdpCast, lists_ ? MemoryBoundKind::kListCast : MemoryBoundKind::kCast},
          shard_of(parameters_), traffic.copy_in);
    }
    if (lists_) {
      add({OpId::kFsdpCopyIn, MemoryBoundKind::kListCopy}, shard_of(parameters_), traffic.copy_in);
    }
    if (lists_ || casts_) {
      add({OpId::kFsdpCopyOut, MemoryBoundKind::kCopy}, parameters_, traffic.copy_out);
    }
    if (lone_experts_) {
      if (casts_) {
        push({OpId::kFsdpCast, MemoryBoundKind::kListCast}, parameters_.expert, kSixteenBits,
             traffic.copy_out);
      }
      push({OpId::kFsdpCopyOut, MemoryBoundKind::kCopy}, parameters_.expert, kSixteenBits,
           traffic.copy_out);
    }
  }
  void around_reduce(LayerTraffic& traffic) const {
    if (lists_ || casts_) {
      add({OpId::kFsdpConcatenate, MemoryBoundKind::kConcatenate}, trained_, traffic.before_reduce);
    }
    if (lone_experts_) {
      push({OpId::kFsdpConcatenate, MemoryBoundKind::kConcatenate}, trained_.expert, kSixteenBits,
           traffic.before_reduce);
      push({OpId::kFsdpQuotient, MemoryBoundKind::kCopy}, trained_.expert, gradient_,
           traffic.after_reduce);
      push({OpId::kFsdpStore, MemoryBoundKind::kCopy}, trained_.expert, gradient_,
           traffic.after_reduce);
    }
  }

 private:
  struct Pass {
    OpId id{};
    MemoryBoundKind kind{};
  };

  [[nodiscard]] LocalParameters shard_of(LocalParameters moved) const {
    moved.dense /= static_cast<double>(plan_.shard_group().size);
    moved.expert /= static_cast<double>(plan_.expert_shards());
    return moved;
  }
  void add(const Pass& pass, const LocalParameters& moved, OpList& ops) const {
    add_one(pass, moved.dense, plan_.shard_group().size, ops);
    add_one(pass, moved.expert, plan_.expert_shards(), ops);
  }
  static void add_one(const Pass& pass, double moved, std::int64_t ranks, OpList& ops) {
    if (ranks > 1) {
      push(pass, moved, kSixteenBits, ops);
    }
  }
  static void push(const Pass& pass, double moved, Bytes element, OpList& ops) {
    if (moved >= 1.0) {
      ops.push_back({pass.id,
                     MemoryBound{pass.kind, 1, static_cast<std::int64_t>(moved), element,
                                 Direction::kForward, Implementation::kFused},
                     Block::kDataParallel});
    }
  }

  const ParallelPlan& plan_;
  const LocalParameters& parameters_;
  LocalParameters trained_;
  bool casts_;
  bool lone_experts_;
  Bytes gradient_;  // of one, as it is reduced
  bool lists_;
};

// Gradients that stay on the rank over its micro-batches.
double kept_gradients(const ParallelPlan& plan, const LocalParameters& parameters) {
  if (plan.zero < 3 || !plan.fsdp_reshard) {
    return parameters.total();
  }
  return plan.fsdp_experts ? 0.0 : parameters.expert;
}

// Gradients of a micro-batch are added to those before, where no product does that.
OpList accumulated(const ExpansionContext& context, const LocalParameters& trained) {
  const auto kept = static_cast<std::int64_t>(kept_gradients(context.plan, trained));
  if (context.software.accumulates_in_gemm || context.plan.micro_batches == 1 || kept == 0) {
    return {};
  }
  return {{OpId::kGradientAccumulate,
           MemoryBound{MemoryBoundKind::kResidual, 1, kept, context.software.states.gradient,
                       Direction::kForward, Implementation::kFused},
           Block::kDataParallel}};
}

// Gradients that are no views of the buckets they are reduced in are divided into them and copied
// back (torch/csrc/distributed/c10d/reducer.cpp, mark_variable_ready_dense and finalize_bucket).
void around_buckets(const ExpansionContext& context, const LocalParameters& trained,
                    LayerTraffic& traffic) {
  const auto values = static_cast<std::int64_t>(trained.total());
  if (context.software.memory.replica_buckets == Bytes{} || values == 0) {
    return;
  }
  const auto copy = [&](OpId id) {
    return Op{id,
              MemoryBound{MemoryBoundKind::kCopy, 1, values, context.software.states.gradient,
                          Direction::kForward, Implementation::kFused},
              Block::kDataParallel};
  };
  traffic.before_reduce.push_back(copy(OpId::kBucketCopyIn));
  traffic.after_reduce.push_back(copy(OpId::kBucketCopyOut));
}

bool broadcasts_parameters(const ExpansionContext& context) {
  return context.software.zero_broadcasts && (context.plan.zero == 1 || context.plan.zero == 2);
}

// Updated parameters that nothing runs beside are gathered in one collective, not a layer each.
bool gathers_at_once(const ExpansionContext& context) {
  return !context.software.overlap_param_gather && !broadcasts_parameters(context) &&
         (context.plan.zero == 1 || context.plan.zero == 2);
}

}  // namespace

TrafficRule traffic_rule(const ExpansionContext& context) {
  using enum Frequency;
  const ParallelPlan& plan = context.plan;
  const SoftwareSpec& software = context.software;
  const bool beside = software.overlap_grad_reduce && !all_reduces_whole(plan, software);
  switch (plan.zero) {
    case 0:
      return {kNever, kNever, 0, kOnceAStep, beside};
    case 1:
      return {kOnceAStep, kNever, 0, kOnceAStep, beside};
    case 2:
      return {kOnceAStep, kNever, 0, kEveryMicroBatch, beside};
    default:
      if (!plan.fsdp_reshard) {
        return {kOnceAStep, kNever, 0, kOnceAStep, beside};
      }
      const bool gathers_twice = context.training.recompute.kind == RecomputeKind::kFull &&
                                 software.fsdp_gathers_for_recompute;
      return {kEveryMicroBatch, kEveryMicroBatch, gathers_twice ? 2 : 1, kEveryMicroBatch, beside};
  }
}

LayerTraffic layer_traffic(const ExpansionContext& context, const LocalParameters& parameters,
                           std::optional<LayerKind> kind) {
  const ParallelPlan& plan = context.plan;
  const Bytes gradient = context.reduced_gradient();
  const ShardTraffic shards(plan, parameters);
  LayerTraffic traffic;
  traffic.accumulate = accumulated(context, parameters.trained());
  if (plan.zero == 3) {
    shards.gather_all(OpId::kFsdpGather,
                      {kSixteenBits, context.software.gathered_frozen(context.training.dtype),
                       context.training.weights.quantised_base().value_or(kSixteenBits)},
                      traffic.gather);
  } else if (plan.zero > 0 && !broadcasts_parameters(context) && !gathers_at_once(context)) {
    shards.add(OpId::kDpGather, CollectiveOp::kAllGather, kSixteenBits, traffic.gather,
               bucket_size(context, kind));
  }
  shards.add(plan.zero == 3 ? OpId::kFsdpReduce : OpId::kDpReduce,
             plan.zero == 0 || all_reduces_whole(plan, context.software)
                 ? CollectiveOp::kAllReduce
                 : CollectiveOp::kReduceScatter,
             gradient, traffic.reduce, bucket_size(context, kind));
  if (plan.zero == 3) {
    const ShardCopies copies(context, parameters);
    copies.around_gather(traffic);
    copies.around_reduce(traffic);
  }
  if (plan.zero == 0 && plan.replicas() > 1) {
    around_buckets(context, parameters.trained(), traffic);
  }
  if (plan.zero == 3 || plan.fsdp > 1) {
    shards.add_replicas(gradient, traffic.replicas);
  }
  if (placement_of(plan.schedule) == StagePlacement::kBidirectional) {
    shards.add_mirror(gradient, traffic.replicas);
  }
  return traffic;
}

OpList updated_parameters_sent(const ExpansionContext& context, const LocalParameters& trained,
                               double shard) {
  const ParallelPlan& plan = context.plan;
  OpList ops;
  if (broadcasts_parameters(context)) {
    // Each rank sends its own shard, one after the other.
    const Collective broadcast{CollectiveOp::kBroadcast, shard * kSixteenBits, plan.sharing_group(),
                               Axis::kData};
    ops.insert(ops.end(), static_cast<std::size_t>(plan.shards()),
               {OpId::kDpBroadcast, broadcast, Block::kDataParallel});
  }
  if (gathers_at_once(context)) {
    ShardTraffic(plan, trained).add(OpId::kDpGather, CollectiveOp::kAllGather, kSixteenBits, ops);
  }
  return ops;
}

}  // namespace stepcast
