// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/provenance_shares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/cost/power_state.hpp"
#include "stepcast/cost/price_cache.hpp"
#include "stepcast/experiment/clock_pulls.hpp"
#include "stepcast/schedule/operator_inventory.hpp"
#include "stepcast/schedule/step_timer.hpp"

namespace stepcast {
namespace {

constexpr double kAtPeak = 1.0 - 1e-9;  // of the peak clock
constexpr std::array<std::size_t, 1> kOneOperator = {};
constexpr double kVisible = 1e-6;  // of the step's time: less is rounding

constexpr std::array kWeakestFirst = {SourceKind::kAssumed, SourceKind::kFitted,
                                      SourceKind::kDerived, SourceKind::kMeasured,
                                      SourceKind::kSpec};

// How far a time follows one of the numbers.
struct Pull {
  std::size_t number = 0;
  double strength = 0.0;
};
// Few of many numbers pull at a time: these, in their order.
using FewPulls = std::vector<Pull>;

FewPulls without_zeros(const Pulls& pulls) {
  FewPulls few;
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    if (pulls[i] != 0.0) {
      few.push_back({i, pulls[i]});
    }
  }
  return few;
}

std::string source_text(const Provenance& constant, const Experiment& experiment) {
  const ClusterSpec& cluster = experiment.cluster;
  for (const SourceTable* table :
       {&cluster.device.sources, &cluster.sources, &cluster.host.sources}) {
    if (const auto known = table->find(constant.source);
        known != table->end() && constant.kind != SourceKind::kAssumed) {
      return known->second;
    }
  }
  return constant.source;
}

Provenance without_profile(std::string what, SourceKind kind, std::string source) {
  Provenance provenance;
  provenance.key = std::move(what);
  provenance.kind = kind;
  provenance.source = std::move(source);
  return provenance;
}

// The largest first; those that differ by rounding alone by their keys.
void sort_by_share(std::vector<RestingConstant>& constants) {
  const auto steps = [](const RestingConstant& entry) {
    return std::llround(entry.share / kVisible);
  };
  std::ranges::stable_sort(constants, [&](const RestingConstant& a, const RestingConstant& b) {
    return steps(a) != steps(b) ? steps(a) > steps(b) : a.constant.key < b.constant.key;
  });
}

// Times, shared out to the numbers that they follow.
class RestingTimes {
 public:
  explicit RestingTimes(std::span<const PlacedNumber> numbers)
      : numbers_(numbers), times_(numbers.size()) {}

  // Step 3 of the description: the weakest kind first, each as much as its pulls add up to.
  void add(Seconds time, const FewPulls& pulls) {
    double left = 1.0;
    for (const SourceKind kind : kWeakestFirst) {
      const double sum = strength(kind, pulls);
      const double taken = std::min(left, sum);
      if (!(taken > 0.0)) {
        continue;
      }
      for (const Pull& pull : pulls) {
        if (numbers_[pull.number].origin->kind == kind) {
          times_[pull.number] += taken * std::abs(pull.strength) / sum * time;
        }
      }
      left -= taken;
    }
    program_ += left * time;
  }
  void add_measured(Seconds time) { tables_ += time; }

  [[nodiscard]] std::vector<RestingConstant> constants(const Experiment& experiment) const {
    std::vector<RestingConstant> all;
    Seconds sum;
    const auto add = [&](const Provenance& constant, Seconds time) {
      sum += time;
      const auto same = std::ranges::find_if(all, [&](const RestingConstant& entry) {
        return entry.constant.key == constant.key && entry.constant.file == constant.file;
      });
      if (same != all.end()) {
        same->share += time.value();
      } else {
        all.push_back({constant, source_text(constant, experiment), time.value()});
      }
    };
    for (std::size_t i = 0; i < times_.size(); ++i) {
      add(*numbers_[i].origin, times_[i]);
    }
    add(without_profile("measured operators", SourceKind::kMeasured,
                        "the tables that the experiment names"),
        tables_);
    add(without_profile("no constant of a profile", SourceKind::kAssumed,
                        "numbers that stand in the program"),
        program_);
    std::erase_if(
        all, [&](const RestingConstant& entry) { return entry.share <= kVisible * sum.value(); });
    const double visible = sum_over(all, &RestingConstant::share);
    for (RestingConstant& entry : all) {
      entry.share /= visible;
    }
    sort_by_share(all);
    return all;
  }

 private:
  [[nodiscard]] double strength(SourceKind kind, const FewPulls& pulls) const {
    return sum_over(pulls, [&](const Pull& pull) {
      return numbers_[pull.number].origin->kind == kind ? std::abs(pull.strength) : 0.0;
    });
  }
  std::span<const PlacedNumber> numbers_;
  std::vector<Seconds> times_;  // by number
  Seconds program_;             // that follow none
  Seconds tables_;              // of operators that the user measured
};

// The step of an experiment, priced while its numbers are moved.
class StepPricing {
 public:
  StepPricing(const MovableExperiment& movable, const Projection& projection, const CostModel& cost)
      : movable_(movable),
        experiment_(movable.experiment()),
        projection_(projection),
        cost_(cost),
        paced_(projection.clock_locked ? cost : within_level(cost)),
        expansion_{experiment_.model, projection.plan, projection.training, experiment_.software} {}

  // Of the slowest rank, each work once, with slopes over the numbers of the device.
  [[nodiscard]] std::vector<StepOp> operators() const {
    const Hertz peak = experiment_.cluster.device.clock.peak;
    std::vector<StepOp> ops = unpriced();
    for (StepOp& entry : ops) {
      entry.clock = projection_.clock_locked
                        ? projection_.clock
                        : within_level(entry.op, cost_, kernel(), experiment_.cluster).clock;
      entry.below_peak = !projection_.clock_locked && entry.clock < kAtPeak * peak;
    }
    const PriceOf price = [&](std::size_t op, double clock_share) {
      KernelContext context = kernel();
      context.clock = clock_share * ops[op].clock;
      return cost_.cost(ops[op].op, context, experiment_.cluster);
    };
    const std::vector<std::size_t> kinds =
        each_of(ops, [](const StepOp& entry) { return entry.op.work.index(); });
    std::vector<SlopedPrice> prices = price_slopes(kinds, price, movable_.of_device());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i].price = std::move(prices[i]);
    }
    return ops;
  }

  // What the gaps of the host follow.
  [[nodiscard]] FewPulls host_pulls() const {
    // No operator, none of their prices and no order of a pipeline reads a number of the host.
    const CostModel kept = with_kept_prices(paced_, experiment_.cluster);
    const StepContext context{expansion_, experiment_.cluster, kept, projection_.clock};
    SolvedSteps solved;
    const PriceOf gaps = [&](std::size_t, double) {
      solved.forget_times();
      StepTimer timer(context, solved, solved.outline(expansion_));
      OpCost cost;
      cost.duration = timer.at(projection_.clock).breakdown.host;
      return cost;
    };
    const SlopedPrice host = price_slopes(kOneOperator, gaps, movable_.of_host()).front();
    FewPulls pulls;
    const std::size_t first = movable_.of_device().size();
    if (!(host.cost.duration > Seconds{})) {
      return pulls;
    }
    for (const PriceSlope& slope : host.numbers) {
      pulls.push_back({first + slope.number, slope.duration() / host.cost.duration});
    }
    return pulls;
  }

 private:
  [[nodiscard]] KernelContext kernel() const {
    return kernel_context({expansion_, experiment_.cluster, cost_, projection_.clock},
                          Detail::kTerms);
  }

  [[nodiscard]] std::vector<StepOp> unpriced() const {
    std::vector<StepOp> ops;
    for (CountedOp& counted : operator_inventory(expansion_, projection_.time.slowest_rank)) {
      const auto known = std::ranges::find_if(
          ops, [&](const StepOp& entry) { return entry.op.work == counted.op.work; });
      if (runs_on_gather_stream(counted.op)) {
        continue;
      }
      if (known == ops.end()) {
        StepOp& entry = ops.emplace_back();
        entry.op = std::move(counted.op);
        entry.count = static_cast<double>(counted.count);
      } else {
        known->count += static_cast<double>(counted.count);
      }
    }
    return ops;
  }

  const MovableExperiment& movable_;
  const Experiment& experiment_;
  const Projection& projection_;
  const CostModel& cost_;
  CostModel paced_;
  ExpansionContext expansion_;
};

// What the clocks of a step rest on.
class ClockPulls {
 public:
  ClockPulls(const MovableExperiment& movable, const std::vector<StepOp>& ops,
             const Projection& projection)
      : fixed_{{projection.clock_locked ? movable.locked_clock() : movable.peak_clock(), 1.0}} {
    if (std::ranges::any_of(ops, &StepOp::below_peak)) {
      const TimeBreakdown& time = projection.time.breakdown;
      limited_ = without_zeros(clock_pulls(movable, ops, time.busy() / projection.time.step));
    }
  }
  [[nodiscard]] const FewPulls& of(const StepOp& op) const {
    return op.below_peak ? limited_ : fixed_;
  }

 private:
  FewPulls fixed_;    // of a locked clock, or of one at the peak
  FewPulls limited_;  // of one that the power limit leaves
};

// Of the term at `place`, which takes `time`.
FewPulls pulls_of(const SlopedPrice& price, std::size_t place, Seconds time,
                  const FewPulls& clock) {
  const double with_clock = price.clock.terms[place] / time;
  FewPulls pulls;
  pulls.reserve(clock.size() + price.numbers.size());
  auto next = clock.begin();
  const auto add_clock_before = [&](std::size_t number) {
    for (; next != clock.end() && next->number < number; ++next) {
      pulls.push_back({next->number, with_clock * next->strength});
    }
  };
  for (const PriceSlope& slope : price.numbers) {
    add_clock_before(slope.number);
    Pull own{slope.number, slope.terms[place] / time};
    if (next != clock.end() && next->number == slope.number) {
      own.strength = with_clock * next->strength + own.strength;
      ++next;
    }
    pulls.push_back(own);
  }
  add_clock_before(std::numeric_limits<std::size_t>::max());
  return pulls;
}

// Step 2: the terms of an operator that takes `time` of the step.
void share_out(const StepOp& op, const FewPulls& clock, Seconds time, RestingTimes& times) {
  const SlopedPrice& price = op.price;
  if (price.cost.origin == Origin::kMeasured || price.cost.origin == Origin::kInterpolated) {
    times.add_measured(time);
    return;
  }
  const std::size_t terms = std::max<std::size_t>(price.cost.terms.size(), 1);
  for (std::size_t i = 0; i < terms; ++i) {
    const Seconds term =
        price.cost.terms.empty() ? price.cost.duration : price.cost.terms[i].duration;
    if (!(term > Seconds{})) {
      continue;
    }
    const FewPulls pulls = pulls_of(price, i, term, clock);
    times.add((term / price.cost.duration) * time, pulls);
  }
}

// Step 1: `time` to the operators that `takes` says take it, in proportion to their own.
template <typename Takes>
void share_out(Seconds time, const std::vector<StepOp>& ops, const ClockPulls& clocks,
               const Takes& takes, RestingTimes& times) {
  const Seconds sum =
      sum_over(ops, [&](const StepOp& op) { return takes(op) ? op.total() : Seconds{}; });
  for (const StepOp& op : ops) {
    if (takes(op) && op.total() > Seconds{}) {
      share_out(op, clocks.of(op), (op.total() / sum) * time, times);
    }
  }
}

}  // namespace

std::optional<ProvenanceShares> provenance_shares(const Experiment& experiment,
                                                  const Projection& projection,
                                                  const CostModel& cost) {
  if (!projection.priced) {
    return std::nullopt;
  }
  const MovableExperiment movable(experiment);
  const StepPricing pricing(movable, projection, cost);
  const std::vector<StepOp> ops = pricing.operators();
  const ClockPulls clocks(movable, ops, projection);
  const TimeBreakdown& time = projection.time.breakdown;
  RestingTimes times(movable.numbers());
  share_out(
      time.busy(), ops, clocks, [](const StepOp& op) { return !communication_axis(op.op); }, times);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const auto of_axis = [axis](const StepOp& op) {
      return communication_axis(op.op) == static_cast<Axis>(axis);
    };
    share_out(time.exposed[axis], ops, clocks, of_axis, times);
  }
  if (time.host > Seconds{}) {
    times.add(time.host, pricing.host_pulls());
  }
  return ProvenanceShares{times.constants(movable.experiment())};
}

}  // namespace stepcast
