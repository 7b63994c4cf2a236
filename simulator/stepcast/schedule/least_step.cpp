// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/least_step.hpp"
#include "stepcast/schedule/host_launches.hpp"

#include "stepcast/pipeline/schedules/schedule_info.hpp"
#include "stepcast/schedule/data_parallel.hpp"

namespace stepcast {
namespace {

class LeastTimes {
 public:
  LeastTimes(const StepContext& context, const StepLayout& layout,
             SolvedConfiguration::AtClock& prices)
      : context_(context), plan_(context.expansion.plan), layout_(layout), prices_(prices) {
    classes_.reserve(layout.outline.solved.size());
    for (const std::size_t solved : layout.outline.solved) {
      classes_.push_back(prices.least(solved, context, layout.mode));
    }
  }

  [[nodiscard]] PipelineTimes pipeline_times() const {
    const bool parted = info(plan_.schedule).backward == BackwardRule::kParted;
    PipelineTimes times;
    times.stages.reserve(plan_.stages.size());
    for (const std::size_t own : layout_.outline.classes.of_stage) {
      const LeastStage& least = classes_[own];
      StageDuration duration;
      const bool one = plan_.micro_batches == 1;
      duration.forward = one ? least.first_forward : least.forward;
      duration.first_extra = least.first_forward - duration.forward;
      duration.backward = parted ? least.inputs + least.weight : least.backward;
      duration.weight = parted ? least.weight : Seconds{};
      times.stages.push_back(duration);
    }
    // Uniform overlap hides a share of transfers, too.
    times.transfer = plan_.uniform ? Seconds{} : layout_.transfer;
    if (layout_.mode == PassMode::kPaired) {
      add_savings(times);
    }
    return times;
  }

  // The stages of a rank, of which each is a chunk.
  [[nodiscard]] LeastStep after(std::size_t rank, const PipelineEnds& ends) {
    const std::size_t chunks = layout_.rank_stages.size() / static_cast<std::size_t>(plan_.pp);
    // Of a parted backward the parts may lie far from each other: what the first reduces may be
    // done.
    const bool parted = info(plan_.schedule).backward == BackwardRule::kParted;
    const Seconds alone = ends.ranks[rank].end;
    const Seconds end = parted ? alone : max(alone, last_reduction(rank, ends));
    HeldWeights weights;
    LeastStep step;
    for (std::size_t i = rank * chunks; i < (rank + 1) * chunks; ++i) {
      const RankStage& own = layout_.rank_stages[i];
      const std::size_t of_class = layout_.outline.classes.of_stage[own.stage];
      step.energy += static_cast<double>(own.micro_batches) * classes_[of_class].energy;
      weights += layout_.outline.configuration->weights(layout_.outline.solved[of_class]);
    }
    const OptimizerTime& optimizer = prices_.optimizer(weights, context_);
    step.energy += optimizer.energy;
    step.step = end + optimizer.spent.total() + host_waits(context_);
    return step;
  }

 private:
  // When a rank is done with what its last backwards reduce: of each chunk no sooner than that
  // began, where software reduces beside it, and one chunk after the other.
  [[nodiscard]] Seconds last_reduction(std::size_t rank, const PipelineEnds& ends) const {
    const std::size_t chunks = layout_.rank_stages.size() / static_cast<std::size_t>(plan_.pp);
    const bool overlaps = traffic_rule(context_.expansion).reduces_beside_backward;
    Seconds begin = ends.ranks[rank].end;
    Seconds all;
    for (std::size_t i = rank * chunks; i < (rank + 1) * chunks; ++i) {
      const LeastStage& least = of_stage(layout_.rank_stages[i].stage);
      // A backward beside a forward is no longer than both.
      const Seconds beside =
          layout_.mode == PassMode::kPaired ? least.first_forward + least.forward : Seconds{};
      const Seconds last = max(least.backward, least.inputs + least.weight) + beside;
      begin = overlaps && least.reduced > Seconds{} ? min(begin, ends.chunk_end[i] - last) : begin;
      all += least.reduced;
    }
    return begin + all;
  }

  // What pairs save at most, by the stages of their forward and backward.
  void add_savings(PipelineTimes& times) const {
    const std::size_t stages = times.stages.size();
    const std::size_t chunks = layout_.rank_stages.size() / static_cast<std::size_t>(plan_.pp);
    times.savings.resize(stages * stages);
    const auto stage_of = [&](std::size_t rank, std::int32_t chunk) {
      return layout_.rank_stages[rank * chunks + static_cast<std::size_t>(chunk)].stage;
    };
    const std::vector<std::vector<ChunkPair>>& pairs = layout_.pipeline.solved->pairs;
    for (std::size_t rank = 0; rank < pairs.size(); ++rank) {
      for (const ChunkPair& pair : pairs[rank]) {
        const std::size_t ahead = stage_of(rank, pair.forward);
        const std::size_t back = stage_of(rank, pair.backward);
        const Seconds least =
            together(of_stage(ahead).forward_sums, of_stage(back).backward_sums).beside();
        const Seconds apart = times.stages[ahead].forward + times.stages[back].backward;
        times.savings[ahead * stages + back] = max(Seconds{}, apart - least);
      }
    }
  }
  [[nodiscard]] const LeastStage& of_stage(std::size_t stage) const {
    return classes_[layout_.outline.classes.of_stage[stage]];
  }

  const StepContext& context_;
  const ParallelPlan& plan_;
  const StepLayout& layout_;
  SolvedConfiguration::AtClock& prices_;
  std::vector<LeastStage> classes_;
};

}  // namespace

PassMode pass_mode(const ExpansionContext& context) {
  if (context.plan.uniform) {
    return PassMode::kUniform;
  }
  return pairs_passes(context) ? PassMode::kPaired : PassMode::kOneByOne;
}

LeastStep least_step(const StepContext& context, const StepLayout& layout,
                     SolvedConfiguration::AtClock& prices, PipelineScratch& scratch) {
  LeastTimes times(context, layout, prices);
  const PipelineEnds ends = layout.pipeline.solved->program.run(times.pipeline_times(), scratch,
                                                                layout.pipeline.more_rounds);
  LeastStep least;
  for (std::size_t rank = 0; rank < ends.ranks.size(); ++rank) {
    const LeastStep own = times.after(rank, ends);
    least.step = max(least.step, own.step);
    least.energy = rank == 0 ? own.energy : min(least.energy, own.energy);
  }
  return least;
}

}  // namespace stepcast
