// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/memory_footprint.hpp"

#include <algorithm>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/built_stage.hpp"
#include "stepcast/layer/dispatcher_model.hpp"
#include "stepcast/layer/expert_expansion.hpp"
#include "stepcast/memory/running_odds.hpp"
#include "stepcast/pipeline/pipeline_order.hpp"
#include "stepcast/plan/update_rule.hpp"

namespace stepcast {
namespace {

MemoryVerdict verdict_at(double odds, double sure) {
  return odds >= sure       ? MemoryVerdict::kFits
         : odds < kHopeless ? MemoryVerdict::kDoesNotFit
                            : MemoryVerdict::kTight;
}

// Pipeline ranks one after the other that need the same.
struct AlikeRanks {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string need;
};

std::string text_of(const AlikeRanks& ranks) {
  return ranks.last == ranks.first
             ? "pipeline rank " + std::to_string(ranks.first) + " needs " + ranks.need
             : "each of the pipeline ranks " + std::to_string(ranks.first) + " to " +
                   std::to_string(ranks.last) + " needs " + ranks.need;
}

// What a rank needs and what there is, to go behind the ranks.
std::string need_text(const StageMemory& stage, const DeviceSpec& device) {
  const Bytes capacity = device.hbm.capacity;
  const std::string rest =
      stage.pool_share < 1.0
          ? ", of which the framework's pool takes " + readable(stage.pool_share * capacity)
          : ", less " + readable(stage.outside) + " for the driver and communicators";
  return readable(stage.total()) + " of memory; " + device.name + " has " + readable(capacity) +
         rest;
}

// Looks at the moments of a rank's order, and keeps the one with the highest total.
class RankPeak {
 public:
  RankPeak(const ExpansionContext& context, const MemoryParts& parts, std::int64_t rank)
      : context_(context),
        left_out_(parts.left_out),
        pairs_(pass_order(context.plan, context.model, context.software) == PassOrder::kPaired),
        on_device_(shares_on_device(context.training.optimizer, context.plan, context.software)) {
    fixed_.rank = rank;
    for (const RankStage& stage : stages_of_rank(plan(), rank)) {
      add_stage(*parts.stages[stage.stage]);
    }
    fixed_.optimizer += on_device_.moments * whole_matrix_excess(context_, matrices_);
    for (const StageHolding* chunk : chunks_) {
      fixed_.gathered += chunk->budget.gathered;
    }
    const bool lasting = model_of(dispatcher_in_use(plan())).buffers_last;
    (lasting ? fixed_.exchange : passing_exchange_) = parts.exchange;
    fixed_.exchange += parts.copies;
    fixed_.symmetric = fixed_.exchange;
    fixed_.outside = outside_allocator();
    fixed_.pool_share = rules().pool_share;
  }

  StageMemory of(const PeakMoments& candidates) {
    lasting_ = fixed_.parameters + fixed_.optimizer + fixed_.received;
    streams_keep_gradients_ = plan().zero == 3 && plan().replicas() > 1 && !rules().gradients_stay;
    in_flight_left_out_ = candidates.piles_up ? left_out_ : 0;
    for (const PeakMoment& moment : candidates.moments) {
      moment.backward ? backward(moment) : forward(moment);
    }
    optimizer();
    StageMemory memory = peak();
    memory.in_flight = real(candidates.most_in_flight + in_flight_left_out_) / real(plan().vpp);
    return memory;
  }

 private:
  [[nodiscard]] const ParallelPlan& plan() const { return context_.plan; }
  [[nodiscard]] const MemoryRules& rules() const { return context_.software.memory; }

  void add_stage(const StageHolding& stage) {
    const StateMemory here = on_device(context_, stage.states);
    fixed_.parameters += here.parameters;
    fixed_.optimizer += here.optimizer;
    add(stage.matrices, 1, matrices_);
    fixed_.gradients +=
        stage.dummy_gradients / real(plan().vpp) + stage.replica_buckets + stage.copies;
    all_parameters_ += stage.parameters;
    if (gradients_last()) {
      fixed_.gradients += gradients_of(stage);
    }
    if (rules().receives_ahead && plan().pp > 1) {
      fixed_.received +=
          stage.neighbours *
          real(plan().micro_batches * context_.sequence_tokens() * residual_width(context_.model)) *
          kSixteenBits;
    }
    chunks_.push_back(&stage);
  }

  // Whether gradients have their place all the time; else from a stage's first backward on: all of
  // them at once where one loop makes them, or as its layers do.
  [[nodiscard]] bool gradients_last() const {
    return rules().gradients_stay && !rules().scans_layers;
  }
  [[nodiscard]] bool gradients_come_at_once() const {
    return rules().gradients_stay && rules().scans_layers;
  }

  [[nodiscard]] Bytes outside_allocator() const {
    double groups = 0.0;
    for (const std::int64_t size : {plan().tp, plan().cp, plan().pp, plan().ep, plan().dp}) {
      groups += size > 1 ? 1.0 : 0.0;
    }
    return rules().context + groups * rules().communicator;
  }

  // What is resident on the rank at a moment besides what the pass itself needs.
  struct Resident {
    Bytes activations;
    Bytes gradients;
    Bytes logits;  // 16-bit ones, of the losses that ran before
  };
  [[nodiscard]] Resident resident_at(const PeakMoment& moment) const {
    Resident resident{{}, fixed_.gradients, {}};
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const StageHolding& stage = *chunks_[chunk];
      resident.activations +=
          real(moment.in_flight[chunk] + in_flight_left_out_) * stage.budget.kept +
          real(moment.deferred[chunk]) * stage.budget.deferred;
      if (moment.has_gradients[chunk] != 0 && !gradients_last()) {
        resident.gradients += gradients_of(stage);
      }
      if (stage.loss) {
        const std::int64_t left_out = moment.late ? left_out_ : in_flight_left_out_;
        resident.logits += logits_of(stage, moment.forwards[chunk] + left_out);
      }
    }
    return resident;
  }
  [[nodiscard]] Bytes gradients_of(const StageHolding& stage) const {
    return on_device_.gradients * stage.gradients;
  }
  [[nodiscard]] Bytes logits_of(const StageHolding& stage, std::int64_t losses) const {
    const bool keeps = rules().keeps_logits && plan().pp > 1;
    return keeps ? real(losses) * stage.budget.logits : Bytes{};
  }

  void forward(const PeakMoment& at) {
    const StageHolding& stage = *chunks_[static_cast<std::size_t>(at.chunk)];
    const StageBudget& budget = stage.budget;
    const Resident resident = resident_at(at);
    MomentMemory now{"forward", resident.activations + budget.travelling, resident.gradients};
    now.gathered = fixed_.gathered;
    now.exchange = fixed_.exchange;
    if (!stage.loss) {
      now.gathered += budget.gathered_layers + budget.lone_gathered;
      now.exchange += passing_exchange_;
      return consider(now);
    }
    now.moment = "loss";
    now.gathered += budget.gathered_head;
    now.loss = budget.loss + resident.logits;
    consider(now);
    now.moment = "head backward";
    now.loss = budget.head_backward + resident.logits + logits_of(stage, 1);
    consider(now);
  }

  void backward(const PeakMoment& at) {
    const StageHolding& stage = *chunks_[static_cast<std::size_t>(at.chunk)];
    const StageBudget& budget = stage.budget;
    const Resident resident = resident_at(at);
    // The forward of a pair is a layer ahead of what its backward has freed, and fills its place.
    const Bytes ahead = pairs_ ? budget.last_kept : Bytes{};
    MomentMemory now{"backward",
                     resident.activations + budget.travelling + ahead + budget.recomputed,
                     resident.gradients, resident.logits};
    const bool fresh =
        !gradients_last() && at.has_gradients[static_cast<std::size_t>(at.chunk)] == 0;
    const Bytes added = fresh ? gradients_of(stage) : Bytes{};
    now.gradients += gradients_come_at_once() ? added : Bytes{};
    now.workspace = budget.workspace;
    now.gathered = fixed_.gathered + budget.gathered_layers + budget.lone_gathered;
    now.reduced = budget.reduced_layer;
    // Rows that pass are in the workspace, while they live; not those of the forward of a pair.
    now.exchange = fixed_.exchange + (pairs_ ? passing_exchange_ : Bytes{});
    consider(now);
    const Bytes left = resident.activations - (pairs_ ? Bytes{} : budget.kept);
    for (const FirstLayer& first : stage.first_layers) {
      first_layer(first, left, now,
                  fresh && !gradients_come_at_once()
                      ? added - on_device_.gradients * first.late_gradients
                      : Bytes{});
    }
    MomentMemory end{"embedding", left, resident.gradients, resident.logits};
    end.gradients += added;
    end.gathered = plan().fsdp_reshard ? Bytes{} : fixed_.gathered;
    end.reduced = budget.reduced_ends;
    end.exchange = fixed_.exchange;
    consider(end);
  }

  // `left` of other micro-batches and `fresh` gradients beside what the `backward` holds.
  void first_layer(const FirstLayer& first, Bytes left, MomentMemory backward, Bytes fresh) {
    MomentMemory now = backward;
    // Beside the forward of a pair all that it keeps is among what is left.
    const Bytes kept = left + (pairs_ ? Bytes{} : first.kept);
    now.moment = "first layer";
    now.activations = kept + first.activations;
    now.workspace = first.workspace;
    now.gathered = fixed_.gathered + first.gathered + first.lone_gathered;
    now.reduced = first.reduced;
    now.gradients += fresh;
    consider(now);
    if (first.experts_reduced > Bytes{}) {
      now.moment = "experts reduced";
      now.activations = kept + layer_input(context_);
      now.workspace = {};
      now.gathered = fixed_.gathered + first.gathered;
      now.reduced = first.experts_reduced;
      consider(now);
    }
  }

  void optimizer() {
    MomentMemory now{"optimizer", {}, fixed_.gradients};
    Bytes logits;
    for (const StageHolding* chunk : chunks_) {
      now.gradients += gradients_last() ? Bytes{} : gradients_of(*chunk);
      logits += chunk->loss ? logits_of(*chunk, losses()) : Bytes{};
    }
    now.loss = 2.0 * logits;  // one by one, and joined
    now.gathered =
        plan().zero == 1 || plan().zero == 2 ? all_parameters_ * rules().gathered_copy : Bytes{};
    now.exchange = fixed_.exchange;
    consider(now);
  }
  [[nodiscard]] std::int64_t losses() const {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if (chunks_[chunk]->loss) {
        return micro_batches_through(plan().schedule, pipeline_shape(plan()),
                                     static_cast<std::int64_t>(chunk));
      }
    }
    return 0;
  }

  void consider(const MomentMemory& now) {
    Bytes streams = now.gathered + now.reduced;
    const Bytes own = now.activations + now.loss + now.workspace + now.exchange;
    const Bytes total = lasting_ + now.gradients + own + streams;
    streams += streams_keep_gradients_ ? now.gradients : Bytes{};
    streams_peak_ = max(streams_peak_, streams);
    own_peak_ = max(own_peak_, total - streams);
    if (total > peak_total_) {
      peak_ = now;
      peak_total_ = total;
    }
  }

  [[nodiscard]] StageMemory peak() const {
    StageMemory memory = fixed_;
    static_cast<MomentMemory&>(memory) = peak_;
    // A captured step allocates from one pool; otherwise the streams' pools share nothing, and
    // their peaks add up.
    const bool one_pool = context_.software.cuda_graph &&
                          context_.software.cuda_graph_scope == CudaGraphScope::kWhole;
    const Bytes own = one_pool ? peak_total_ : own_peak_;
    // A segment that grows has no holes between segments; pools of other streams stay apart.
    const bool recomputes = context_.training.recompute.kind == RecomputeKind::kFull;
    const double left = recomputes
                            ? rules().fragmentation_recomputed.value_or(rules().fragmentation)
                            : rules().fragmentation;
    const double holes = rules().expandable_segments ? 0.0 : left;
    memory.reserved =
        (1.0 + holes) * (own - fixed_.symmetric) + (one_pool ? Bytes{} : streams_peak_);
    return memory;
  }

  const ExpansionContext& context_;
  std::int64_t left_out_;
  bool pairs_;  // whether backwards run beside forwards
  SharesOnDevice on_device_;
  WeightMatrices matrices_;  // of all chunks, that the optimizer updates as a whole
  std::int64_t in_flight_left_out_ = 0;
  std::vector<const StageHolding*> chunks_;
  StageMemory fixed_;  // what is there all the time
  Bytes lasting_;      // of it what no moment adds to
  bool streams_keep_gradients_ = false;
  MomentMemory peak_;
  Bytes peak_total_;
  Bytes passing_exchange_;  // rows that live while a layer runs
  Bytes own_peak_;          // of the stream that computes
  Bytes streams_peak_;      // of those that communicate
  double all_parameters_ = 0.0;
};

}  // namespace

std::vector<PeakMoments> peak_moments_of(Schedule schedule, const PipelineShape& shape) {
  const std::int64_t chunks = chunks_per_rank(schedule, shape);
  std::vector<PeakMoments> moments;
  moments.reserve(static_cast<std::size_t>(shape.ranks));
  for (const RankOrder& order : pipeline_orders(schedule, shape)) {
    moments.push_back(peak_moments(order, {chunks, shape.ranks}));
  }
  return moments;
}

Bytes exchange_memory(const ExpansionContext& context) { return total(exchange_buffers(context)); }

Bytes expert_copies_memory(const ExpansionContext& context) {
  const std::int64_t places = context.plan.exchange.redundant_experts / context.plan.ep;
  if (!context.model.moe || places == 0) {
    return {};
  }
  return real(places) * expert_elements(context) *
         (kSixteenBits + context.software.gradient_reduce);
}

std::vector<StageMemory> memory_by_stage(const ExpansionContext& context) {
  const StageClasses classes = stage_classes(context);
  StageBuilder builder;
  std::vector<StageHolding> holdings;
  holdings.reserve(classes.first.size());
  for (const std::size_t first : classes.first) {
    holdings.push_back(stage_holding(context, builder.stage(context, first)));
  }
  MemoryParts parts;
  for (const std::size_t own : classes.of_stage) {
    parts.stages.push_back(&holdings[own]);
  }
  parts.exchange = exchange_memory(context);
  parts.copies = expert_copies_memory(context);
  return memory_by_stage(context, parts,
                         peak_moments_of(context.plan.schedule, pipeline_shape(context.plan)));
}

std::vector<StageMemory> memory_by_stage(const ExpansionContext& context, const MemoryParts& parts,
                                         const std::vector<PeakMoments>& moments) {
  std::vector<StageMemory> stages;
  stages.reserve(moments.size());
  for (std::size_t rank = 0; rank < moments.size(); ++rank) {
    stages.push_back(RankPeak(context, parts, static_cast<std::int64_t>(rank)).of(moments[rank]));
    const StageMemory& last = stages.back();
    if ((parts.limit && odds_of_running(last, parts.limit->capacity) < parts.limit->sure) ||
        (parts.too_much && last.total() >= *parts.too_much)) {
      break;
    }
  }
  return stages;
}

void judge_memory(std::vector<StageMemory>& stages, const DeviceSpec& device) {
  for (StageMemory& stage : stages) {
    stage.odds = odds_of_running(stage, device.hbm.capacity);
    stage.verdict = verdict_at(stage.odds, device.hbm.sure);
    stage.missing = missing_memory(stage, device.hbm.capacity, device.hbm.sure);
  }
}

MemoryVerdict verdict_on(const std::vector<StageMemory>& judged) {
  MemoryVerdict worst = MemoryVerdict::kFits;
  for (const StageMemory& stage : judged) {
    worst = std::max(worst, stage.verdict);
  }
  return worst;
}

double odds_on(const std::vector<StageMemory>& judged) {
  double least = 1.0;
  for (const StageMemory& stage : judged) {
    least = std::min(least, stage.odds);
  }
  return least;
}

bool is_sure(const std::vector<StageMemory>& judged) {
  return verdict_on(judged) == MemoryVerdict::kFits;
}

bool may_run(const std::vector<StageMemory>& judged) {
  return verdict_on(judged) != MemoryVerdict::kDoesNotFit;
}

bool is_tight(const std::vector<StageMemory>& judged) {
  return verdict_on(judged) == MemoryVerdict::kTight;
}

std::vector<std::string> memory_reasons(const std::vector<StageMemory>& judged,
                                        const DeviceSpec& device) {
  std::vector<AlikeRanks> groups;
  for (const StageMemory& stage : judged) {
    if (stage.verdict != MemoryVerdict::kDoesNotFit) {
      continue;
    }
    std::string need = need_text(stage, device);
    if (!groups.empty() && groups.back().last == stage.rank - 1 && groups.back().need == need) {
      groups.back().last = stage.rank;
    } else {
      groups.push_back({stage.rank, stage.rank, std::move(need)});
    }
  }
  std::vector<std::string> reasons;
  reasons.reserve(groups.size());
  for (const AlikeRanks& group : groups) {
    reasons.push_back(text_of(group));
  }
  return reasons;
}

}  // namespace stepcast
