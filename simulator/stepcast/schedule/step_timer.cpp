// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/step_timer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stepcast/base/error.hpp"
#include "stepcast/pipeline/pipeline_transfer.hpp"
#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/schedule/data_parallel.hpp"
#include "stepcast/schedule/host_launches.hpp"
#include "stepcast/schedule/paired_passes.hpp"
#include "stepcast/schedule/rank_passes.hpp"
#include "stepcast/schedule/step_clock.hpp"

namespace stepcast {
namespace {

// The time of one pipeline rank in a step, without what it waits for other ranks.
struct RankTime {
  TimeBreakdown spent;
  TimeBreakdown hidden;
  Joules energy;

  void add(const PassTime& pass, double times) {
    spent += times * pass.spent;
    hidden += times * pass.hidden;
    energy += times * pass.energy;
  }
};

// What a step is put together from, where its tasks have been run one by one.
PipelineEnds ends_of(const std::vector<RankTimeline>& ranks) {
  PipelineEnds ends;
  for (const RankTimeline& rank : ranks) {
    ends.ranks.push_back({rank.bubble, rank.transfer, rank.parameters, rank.end});
    ends.chunk_end.insert(ends.chunk_end.end(), rank.chunk_end.begin(), rank.chunk_end.end());
  }
  return ends;
}

// A step at one clock, put together from its solved parts.
class Assembly {
 public:
  Assembly(const StepContext& context, const PlanOutline& outline,
           SolvedConfiguration::AtClock& prices, const std::vector<RankStage>& rank_stages,
           const PlanPipeline& pipeline, bool pairs)
      : context_(context),
        plan_(context.expansion.plan),
        outline_(outline),
        prices_(prices),
        rank_stages_(rank_stages),
        chunks_(rank_stages.size() / static_cast<std::size_t>(plan_.pp)),
        pipeline_(pipeline),
        pairs_(pairs),
        rule_(traffic_rule(context.expansion)),
        host_(context.cluster.host, context.expansion.software, context.expansion.training) {
    std::vector<const SolvedStage*> of_class;
    of_class.reserve(outline.solved.size());
    for (const std::size_t solved : outline.solved) {
      of_class.push_back(&prices.stage(solved, context, micro_batches()));
    }
    stages_.reserve(plan_.stages.size());
    for (const std::size_t own : outline.classes.of_stage) {
      stages_.push_back(of_class[own]);
    }
  }

  // The parameters of a rank's chunks are gathered one after the other.
  [[nodiscard]] std::vector<StageDuration> durations() const {
    std::vector<StageDuration> durations;
    durations.reserve(stages_.size());
    for (const SolvedStage* stage : stages_) {
      durations.push_back(stage->duration);
    }
    for (std::size_t first = 0; first < rank_stages_.size(); first += chunks_) {
      Seconds before;
      for (std::size_t i = first; i < first + chunks_; ++i) {
        StageDuration& duration = durations[rank_stages_[i].stage];
        const GatherTime& gather = stages_[rank_stages_[i].stage]->time.gather;
        duration.ready = max(duration.ready, before + gather.first);
        before += gather.all;
      }
      durations[rank_stages_[first].stage].ready += gathered_late(first);
    }
    return durations;
  }

  // `duration`: of a transfer that no other communication slows down.
  [[nodiscard]] Seconds transfer(Seconds duration, Fabric fabric) const {
    if (plan_.uniform) {
      return (1.0 - plan_.overlap.hidden[slot(Axis::kPipeline)]) * duration;
    }
    if (fabric == Fabric::kNone || !(duration > Seconds{})) {
      return duration;
    }
    std::vector<StageTraffic> traffic;
    traffic.reserve(stages_.size());
    for (const SolvedStage* stage : stages_) {
      traffic.push_back({stage->duration.forward + stage->duration.backward,
                         stage->fabrics[static_cast<std::size_t>(fabric)]});
    }
    return shared_transfer(duration, traffic);
  }

  // What pairs save, by the stages of their forward and backward.
  [[nodiscard]] PairSavings savings() {
    PairSavings savings;
    if (!pairs_) {
      return savings;
    }
    savings.resize(stages_.size() * stages_.size());
    for (std::size_t rank = 0; rank < pipeline_.solved->pairs.size(); ++rank) {
      for (const ChunkPair& pair : pipeline_.solved->pairs[rank]) {
        savings[stage_of(rank, pair.forward) * stages_.size() + stage_of(rank, pair.backward)] =
            saved(rank, pair).total();
      }
    }
    return savings;
  }

  // How long after its last task, at `end`, a rank still reduces: chunks that end earlier go on
  // beside the tasks that follow, unless the software reduces at the end only. Where every
  // micro-batch reduces, a rank ends no earlier than the stream that carries all of them.
  Seconds reduction_tail(std::size_t rank, Seconds end, const Seconds* chunk_end) {
    const bool overlaps = rule_.reduces_beside_backward;
    reductions_.clear();
    Seconds traffic;
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const RankStage& own = rank_stages_[rank * chunks_ + chunk];
      const StageTime& stage = stages_[own.stage]->time;
      traffic += data_traffic(stage, own.micro_batches);
      reductions_.push_back({overlaps ? chunk_end[chunk] : end, stage.last_backward.backlog});
    }
    std::ranges::sort(reductions_, {}, &Reduction::from);
    Seconds free;
    for (const Reduction& chunk : reductions_) {
      free = max(free, chunk.from) + chunk.backlog;
    }
    // Hidden by a share that the user gives, no stream carries it.
    free = plan_.uniform ? free : max(free, traffic);
    return max(max(Seconds{}, free - end), reduced_late(rank));
  }

  // How much longer the rank with the most work of all data-parallel ones takes than their mean,
  // until `end`: what they reduce waits for it.
  [[nodiscard]] Seconds waits_for_work(Seconds end) const {
    const double spread = context_.expansion.training.work_spread;
    return spread > 0.0 ? spread * mean_extreme_within(plan_.dp, kBeyondAll) * end : Seconds{};
  }

  // The optimizer step of a rank. Its host begins when it has launched the last backward.
  OptimizerTime update(std::size_t rank) {
    HeldWeights weights;
    std::int64_t layers = 0;
    std::vector<std::size_t> stages;
    for (std::size_t i = rank * chunks_; i < (rank + 1) * chunks_; ++i) {
      const std::size_t stage = rank_stages_[i].stage;
      weights += outline_.configuration->weights(outline_.stage(stage));
      layers += plan_.stages[stage].layers;
      stages.push_back(stage);
    }
    OptimizerTime time = prices_.optimizer(weights, context_);
    time.spent.host += paging_time(context_, weights);
    const Seconds lead = stages_[rank_stages_[rank * chunks_].stage]->time.last_backward.host_lead;
    const Seconds launching = host_.updating(plan_, layers) - max(Seconds{}, lead);
    time.spent.host += max(Seconds{}, launching - time.spent.total());
    time.spent.host += copying_gathered(context_, stages);
    return time;
  }

  [[nodiscard]] PipelineTimes times(Seconds transfer_duration, Fabric fabric) {
    return {durations(), transfer(transfer_duration, fabric), savings()};
  }

  StepTime step(const PipelineEnds& ends) {
    StepTime result;
    Seconds busiest{-1.0};
    RankTime time;  // of this rank, and of those before it that run the same
    for (std::size_t rank = 0; rank < ends.ranks.size(); ++rank) {
      if (rank == 0 || !runs_same(rank - 1, rank)) {
        time = rank_time(rank);
      }
      const Seconds busy = time.spent.total();
      RankTime waiting = time;
      add_waiting(ends, rank, waiting);
      result.step = max(result.step, waiting.spent.total());
      if (busy > busiest) {
        busiest = busy;
        result.slowest_rank = static_cast<std::int64_t>(rank);
        result.breakdown = waiting.spent;
        result.hidden = waiting.hidden;
        result.energy = waiting.energy;
      }
    }
    // A rank that is done waits for the last one: the next step starts for all together.
    result.breakdown.bubble += result.step - result.breakdown.total();
    return result;
  }

  // What of a step follows from the tasks of its ranks, and their passes.
  void tell(const std::vector<RankTimeline>& ranks, StepListener& listener) {
    std::optional<RankPasses> passes;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const RankTimeline& own = ranks[rank];
      const Seconds tail = reduction_tail(rank, own.end, own.chunk_end.data());
      const Seconds waits = waits_for_work(own.end);
      const RankEnd end{rank, own.end, tail + waits, waits, update(rank).spent};
      if (listener.wants_passes(rank)) {
        if (!passes) {
          passes.emplace(context_);
          listener.operators(passes->operators());
        }
        passes->tell(own, end, listener);
      }
      listener.rank_end(end);
    }
  }

 private:
  // What runs once a step beside the passes of a pipeline: the ranks start it together, and none
  // may hold up the messages of the others, so that it hides behind no more than one micro-batch's
  // pass through the rank's own chunks. This much more is exposed of what they gather or reduce.
  [[nodiscard]] bool hides_behind_one_micro_batch(Frequency frequency) const {
    return frequency == Frequency::kOnceAStep && plan_.pp > 1 && !plan_.uniform;
  }
  [[nodiscard]] static Seconds data_time(const PassTime& pass) {
    return pass.spent.exposed[slot(Axis::kData)] + pass.hidden.exposed[slot(Axis::kData)];
  }
  // Beyond what the chunks' own first forwards and gathers before them expose.
  [[nodiscard]] Seconds gathered_late(std::size_t first) const {
    if (!hides_behind_one_micro_batch(rule_.forward_gather)) {
      return {};
    }
    Seconds late;
    for (std::size_t i = first; i < first + chunks_; ++i) {
      const StageTime& stage = stages_[rank_stages_[i].stage]->time;
      late += data_time(stage.first_forward) - stage.forward.duration();
      late -= max(Seconds{}, stage.first_forward.duration() - stage.forward.duration());
    }
    return max(Seconds{}, late);
  }
  [[nodiscard]] Seconds reduced_late(std::size_t rank) const {
    if (!hides_behind_one_micro_batch(rule_.reduce)) {
      return {};
    }
    Seconds late;
    for (std::size_t i = rank * chunks_; i < (rank + 1) * chunks_; ++i) {
      const StageTime& stage = stages_[rank_stages_[i].stage]->time;
      late += data_time(stage.last_backward) - stage.backward.duration();
      late -= max(Seconds{}, stage.last_backward.duration() - stage.backward.duration());
    }
    return max(Seconds{}, late);
  }

  [[nodiscard]] MicroBatches micro_batches() const {
    return plan_.micro_batches == 1 ? MicroBatches::kOne : MicroBatches::kSeveral;
  }
  [[nodiscard]] const RankStage& rank_stage(std::size_t rank, std::int32_t chunk) const {
    return rank_stages_[rank * chunks_ + static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] std::size_t stage_of(std::size_t rank, std::int32_t chunk) const {
    return rank_stage(rank, chunk).stage;
  }
  const TimeBreakdown& saved(std::size_t rank, const ChunkPair& pair) {
    return prices_.saved(outline_.stage(stage_of(rank, pair.forward)),
                         outline_.stage(stage_of(rank, pair.backward)), context_, micro_batches());
  }

  // Whether two ranks do the same besides waiting.
  [[nodiscard]] bool runs_same(std::size_t a, std::size_t b) const {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const RankStage& first = rank_stages_[a * chunks_ + chunk];
      const RankStage& second = rank_stages_[b * chunks_ + chunk];
      if (outline_.stage(first.stage) != outline_.stage(second.stage) ||
          first.micro_batches != second.micro_batches) {
        return false;
      }
    }
    return !pairs_;
  }

  RankTime rank_time(std::size_t rank) {
    RankTime time;
    for (std::size_t i = rank * chunks_; i < (rank + 1) * chunks_; ++i) {
      const StageTime& stage = stages_[rank_stages_[i].stage]->time;
      const auto between = static_cast<double>(rank_stages_[i].micro_batches - 1);
      time.add(stage.first_forward, 1.0);
      time.add(stage.forward, between);
      time.add(stage.backward, between);
      time.add(stage.last_backward, 1.0);
      time.hidden.exposed[slot(Axis::kData)] += stage.gather.first;
    }
    const OptimizerTime optimizer = update(rank);
    time.spent += optimizer.spent;
    time.energy += optimizer.energy;
    if (pairs_) {
      for (const ChunkPair& pair : pipeline_.solved->pairs[rank]) {
        subtract(pipeline_.times(pair) * saved(rank, pair), time);
      }
    }
    return time;
  }
  static void subtract(const TimeBreakdown& saved, RankTime& time) {
    time.spent = time.spent - saved;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      time.hidden.exposed[axis] += saved.exposed[axis];
    }
  }

  void add_waiting(const PipelineEnds& ends, std::size_t rank, RankTime& time) {
    const RankEnds& own = ends.ranks[rank];
    const Seconds waited =
        own.parameters + reduction_tail(rank, own.end, ends.chunk_end.data() + rank * chunks_);
    time.spent.bubble = own.bubble;
    time.spent.host += host_waits(context_);
    time.spent.exposed[slot(Axis::kPipeline)] += own.transfer;
    time.spent.exposed[slot(Axis::kData)] += waited + waits_for_work(own.end);
    Seconds& hidden = time.hidden.exposed[slot(Axis::kData)];
    hidden = max(Seconds{}, hidden - waited);
  }

  struct Reduction {
    Seconds from;
    Seconds backlog;
  };

  const StepContext& context_;
  const ParallelPlan& plan_;
  const PlanOutline& outline_;
  SolvedConfiguration::AtClock& prices_;
  const std::vector<RankStage>& rank_stages_;
  std::size_t chunks_;
  const PlanPipeline& pipeline_;
  bool pairs_;
  TrafficRule rule_;
  HostLaunches host_;
  std::vector<const SolvedStage*> stages_;  // of plan.stages
  std::vector<Reduction> reductions_;       // of the rank at hand
};

}  // namespace

StepTime between(const StepTime& slow, const StepTime& fast, double share_of_fast) {
  const auto mixed = [share_of_fast](const TimeBreakdown& a, const TimeBreakdown& b) {
    TimeBreakdown mix = a;
    return mix += share_of_fast * (b - a);
  };
  StepTime result = fast;
  result.breakdown = mixed(slow.breakdown, fast.breakdown);
  result.hidden = mixed(slow.hidden, fast.hidden);
  result.energy = slow.energy + share_of_fast * (fast.energy - slow.energy);
  result.step = result.breakdown.total();
  return result;
}

StepTimer::StepTimer(const StepContext& context)
    : context_(context), own_(std::make_unique<SolvedSteps>()), solved_(own_.get()) {
  outline_ = own_->outline(context.expansion);
  lay_out();
}

StepTimer::StepTimer(const StepContext& context, SolvedSteps& solved, PlanOutline outline)
    : context_(context), solved_(&solved), outline_(std::move(outline)) {
  lay_out();
}

PipelineRuntime StepTimer::runtime() const {
  const ExpansionContext& expansion = context_.expansion;
  return pipeline_runtime(expansion.plan, expansion.model, expansion.software);
}

void StepTimer::lay_out() {
  const ParallelPlan& plan = context_.expansion.plan;
  for (std::int64_t rank = 0; rank < plan.pp; ++rank) {
    const std::vector<RankStage> own = stages_of_rank(plan, rank);
    rank_stages_.insert(rank_stages_.end(), own.begin(), own.end());
  }
  pairs_ = pairs_passes(context_.expansion);
  pipeline_ = solved_->pipeline(plan, runtime());
  for (const std::size_t stage : outline_.solved) {
    load_ = load_.combined(outline_.configuration->load(stage, context_));
  }
  transfer_ = pipeline_transfer(context_);
  transfer_fabric_ = pipeline_fabric(context_);
}

SolvedConfiguration::AtClock& StepTimer::prices(const StepContext& context) {
  return outline_.configuration->at(context, load_);
}

StepTime StepTimer::at(Hertz clock, StepListener* listener) {
  const StepContext fixed = at_clock(clock);
  Assembly assembly(fixed, outline_, prices(fixed), rank_stages_, pipeline_, pairs_);
  const PipelineTimes times = assembly.times(transfer_, transfer_fabric_);
  if (listener == nullptr) {
    return assembly.step(
        pipeline_.solved->program.run(times, solved_->scratch(), pipeline_.more_rounds));
  }
  const ParallelPlan& plan = context_.expansion.plan;
  const PipelineShape shape = pipeline_shape(plan);
  const PipelineRuntime runtime = this->runtime();
  const std::vector<RankTimeline> ranks =
      pipeline_timeline(plan.schedule, shape, pipeline_orders(plan.schedule, shape, runtime.passes),
                        times.stages, times.transfer, times.savings, runtime.transfers, listener);
  assembly.tell(ranks, *listener);
  return assembly.step(ends_of(ranks));
}

LeastStep StepTimer::least_at(Hertz clock) {
  const StepContext fixed = at_clock(clock);
  const StepLayout layout{outline_, rank_stages_, pipeline_, transfer_,
                          pass_mode(context_.expansion)};
  return least_step(fixed, layout, prices(fixed), solved_->scratch());
}

Hertz StepTimer::grid_clock(const DeviceSpec& device, std::int64_t index) {
  return (static_cast<double>(index) / static_cast<double>(kGrid)) * device.clock.peak;
}

const StepTime& StepTimer::on_grid(std::int64_t index) {
  const auto found = std::ranges::find(known_, index, &Known::index);
  return found != known_.end() ? found->time
                               : known_.emplace_back(Known{index, at(grid_clock(index))}).time;
}

StepTime StepTimer::near(Hertz clock) {
  const Hertz peak = context_.cluster.device.clock.peak;
  constexpr auto kSteps = static_cast<double>(kGrid);
  const auto below = static_cast<std::int64_t>(std::floor(kSteps * (clock / peak)));
  if (clock == grid_clock(below)) {
    return on_grid(below);
  }
  STEPCAST_CHECK(below > 0, "a clock far below the part's range");
  const double fast = static_cast<double>(below + 1) / kSteps;
  const double slow = static_cast<double>(below) / kSteps;
  // A period's share of the way from the slow clock's to the fast one's.
  const double period = peak / clock;
  const double share = (1.0 / slow - period) / (1.0 / slow - 1.0 / fast);
  const StepTime at_slow = on_grid(below);
  return between(at_slow, on_grid(below + 1), share);
}

StepTimer::RoughStep StepTimer::rough(std::int64_t index) {
  const StepContext fixed = at_clock(grid_clock(index));
  const std::size_t middle = context_.expansion.plan.stages.size() / 2;
  const TaskSums own = prices(fixed).rough(outline_.stage(middle), fixed);
  RoughStep step;
  step.compute = own.compute;
  step.energy = own.energy;
  Seconds busy = own.compute;
  for (const Seconds& axis : own.exposed) {
    busy += axis;
  }
  const ParallelPlan& plan = context_.expansion.plan;
  const auto tasks_of_rank = static_cast<double>(plan.micro_batches * plan.vpp);
  const double waits = static_cast<double>(plan.pp - 1) / tasks_of_rank;
  if (busy > Seconds{}) {
    step.duty = step.compute / busy / (1.0 + waits);
  }
  return step;
}

StepTime step_time(const StepContext& context) { return StepTimer(context).at(context.clock); }

}  // namespace stepcast
