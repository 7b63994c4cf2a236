// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/plan_climb.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "stepcast/cost/price_cache.hpp"
#include "stepcast/memory/running_odds.hpp"
#include "stepcast/plan/plan_keys.hpp"

namespace stepcast {
namespace {

Bytes fullest(const std::vector<StageMemory>& memory) {
  return std::ranges::max_element(memory, {}, &StageMemory::total)->total();
}

}  // namespace

PlanTrials::PlanTrials(const Experiment& site, const CostModel& cost,
                       std::shared_ptr<SolvedPipelines> pipelines)
    : site_(std::make_unique<const Experiment>(site)),
      projector_(std::make_unique<PlanProjector>(*site_, with_kept_prices(cost, site_->cluster),
                                                 std::move(pipelines))) {}

ResolvedPlan PlanTrials::settled(const PlanChange& change) {
  ++tried_;
  return settle_plan(change.plan, site_->model, change.training, site_->cluster, site_->software);
}

void PlanTrials::refuse(std::string_view reason) { ++searched_.refused[std::string(reason)]; }

std::optional<RunningPlan> PlanTrials::priced(const PlanChange& change, const ParallelPlan& plan,
                                              double than) {
  projector_->take(plan, change.training);
  const std::optional<std::vector<StageMemory>> memory = projector_->memory_if_sure();
  if (!memory) {
    refuse(kRefusedByMemory);
    return std::nullopt;
  }
  const auto no_faster = [&](Seconds step) {
    return projector_->rates(step).tokens_per_second_per_gpu <= than;
  };
  if (no_faster(projector_->step_at_least(no_faster))) {
    ++searched_.bounded;
    return std::nullopt;
  }
  const StepAtClock step = projector_->step();
  if (!step.keeps_limit) {
    refuse(kRefusedByPower);
    return std::nullopt;
  }
  ++searched_.priced;
  if (no_faster(step.time.step)) {
    return std::nullopt;
  }
  const double rate = projector_->rates(step.time.step).tokens_per_second_per_gpu;
  return RunningPlan{change, plan, step, fullest(*memory), rate};
}

std::optional<RunningPlan> PlanTrials::run(const PlanChange& change) {
  return fastest({change}, 0.0);
}

std::vector<PlanTrials::Candidate> PlanTrials::candidates(const std::vector<PlanChange>& changes,
                                                          double than) {
  std::vector<Candidate> open;
  const auto never_enough = [](Seconds) { return false; };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ResolvedPlan resolved = settled(changes[i]);
    ++searched_.plans;
    if (!resolved.reasons.empty()) {
      refuse(resolved.reasons.front().rule());
      continue;
    }
    projector_->take(resolved.plan, changes[i].training);
    const HbmSpec& hbm = site_->cluster.device.hbm;
    if (projector_->floor_of_memory() > most_memory(hbm.capacity, hbm.sure)) {
      refuse(kRefusedByMemory);
      continue;
    }
    const double at_most =
        projector_->rates(projector_->floor_of_step(never_enough)).tokens_per_second_per_gpu;
    if (at_most > than) {
      open.push_back({i, std::move(resolved.plan), at_most});
    } else {
      ++searched_.bounded;
    }
  }
  std::ranges::stable_sort(open, std::ranges::greater{}, &Candidate::at_most);
  return open;
}

std::optional<RunningPlan> PlanTrials::fastest(const std::vector<PlanChange>& changes,
                                               double than) {
  std::optional<RunningPlan> best;
  // Those that might be the fastest first.
  for (const Candidate& candidate : candidates(changes, than)) {
    const double known = best ? best->tokens_per_second_per_gpu : than;
    if (candidate.at_most <= known) {
      ++searched_.bounded;
      continue;
    }
    if (std::optional<RunningPlan> found =
            priced(changes[candidate.index], candidate.plan, known)) {
      best = std::move(found);
    }
  }
  return best;
}

std::optional<PlanTrials::Lightest> PlanTrials::lightest(const std::vector<PlanChange>& changes,
                                                         Bytes than) {
  std::optional<Lightest> best;
  for (const PlanChange& change : changes) {
    ResolvedPlan resolved = settled(change);
    if (!resolved.reasons.empty()) {
      continue;
    }
    projector_->take(resolved.plan, change.training);
    const Bytes needs = fullest(projector_->memory());
    if (needs < (best ? best->needs : than)) {
      best = Lightest{change, std::move(resolved.plan), needs};
    }
  }
  return best;
}

std::optional<RunningPlan> first_that_runs(PlanTrials& trials, const ClimbStart& start,
                                           std::int64_t most) {
  const ParallelPlan settled = trials.settled(start.change).plan;
  PlanTrials::Lightest at{start.change, settled, Bytes{std::numeric_limits<double>::infinity()}};
  most += trials.tried();
  while (trials.tried() < most) {
    const std::vector<PlanChange> changes =
        single_changes(trials.site(), at.change, at.plan, start.kept);
    if (std::optional<RunningPlan> found = trials.fastest(changes, 0.0)) {
      return found;
    }
    std::optional<PlanTrials::Lightest> next = trials.lightest(changes, at.needs);
    if (!next) {
      break;
    }
    at = std::move(*next);
  }
  return std::nullopt;
}

std::optional<RunningPlan> climb(PlanTrials& trials, const ClimbStart& start, std::int64_t most) {
  const std::int64_t last = trials.tried() + most;
  std::optional<RunningPlan> at = trials.run(start.change);
  if (!at) {
    at = first_that_runs(trials, start, most);
  }
  while (at && trials.tried() < last) {
    std::optional<RunningPlan> next =
        trials.fastest(single_changes(trials.site(), at->change, at->plan, start.kept),
                       at->tokens_per_second_per_gpu);
    if (!next) {
      break;
    }
    at = std::move(next);
  }
  return at;
}

namespace {

constexpr std::int64_t kMostRanks = 16;  // of a pipeline that a climb starts with

// What a search chooses, as it is where nobody chooses; what is kept stays.
PlanChange start_of(const Experiment& site, const KeySet& kept) {
  PlanChange start{{}, site.plan, site.training};
  PlanRequest& plan = start.plan;
  plan.given = true;
  const PlanRequest usual;
  const auto reset = [&](std::string_view key) {
    if (!kept.contains("plan." + std::string(key))) {
      plan_key(key)->copy(usual, plan);
    }
  };
  std::ranges::for_each(kDividingKeys, reset);
  std::ranges::for_each(kShardingKeys, reset);
  reset("dp");
  return start;
}

// All that the start chooses, as settings.
void say_settings(const Experiment& site, PlanChange& start) {
  const PlanRequest& plan = start.plan;
  PlanSettings& settings = start.settings;
  settings.emplace_back("training.micro_batch_size",
                        std::to_string(start.training.micro_batch_size));
  settings.emplace_back("training.recompute", std::string(name(start.training.recompute.kind)));
  settings.emplace_back("plan.tp", std::to_string(plan.tp));
  if (site.model.moe) {
    settings.emplace_back("plan.ep", std::to_string(plan.ep));
  }
  settings.emplace_back("plan.pp", std::to_string(plan.pp));
  if (plan.zero) {
    settings.emplace_back("plan.zero", std::to_string(*plan.zero));
  }
  if (plan.layout == "balanced") {
    settings.emplace_back("plan.stage_layout", plan.layout);
  }
}

}  // namespace

std::vector<PlanChange> usual_starts(const Experiment& site, const KeySet& kept) {
  std::vector<PlanChange> starts;
  const bool free = std::ranges::none_of(kept, [](const std::string& key) {
    return key.starts_with("plan.") && key != "plan.dispatcher";
  });
  if (free) {
    Experiment without = site;
    without.plan = start_of(site, kept).plan;
    without.plan.given = false;
    starts.push_back(
        unchanged_plan(without, settle_plan(without.plan, without.model, without.training,
                                            without.cluster, without.software)
                                    .plan));
  }
  const std::int64_t gpus = site.cluster.gpus();
  const std::int64_t node = site.cluster.gpus_per_node;
  for (const std::int64_t pp : divisors(gpus)) {
    for (const std::int64_t ep : {node, 8 * node}) {
      const bool divides =
          site.model.moe && site.model.moe->experts % ep == 0 && gpus % (pp * ep) == 0;
      if (pp > std::min(kMostRanks, site.model.layers) || (ep > node && !divides)) {
        continue;
      }
      PlanChange start = start_of(site, kept);
      start.plan.pp = kept.contains("plan.pp") ? start.plan.pp : pp;
      start.plan.ep = divides && !kept.contains("plan.ep") ? ep : start.plan.ep;
      start.plan.zero = keeps_sharding(kept) ? start.plan.zero : 1;
      if (!kept.contains("plan.stage_layout") && site.model.layers % start.plan.pp != 0) {
        start.plan.layout = "balanced";
      }
      say_settings(site, start);
      if (starts.empty() || starts.back().settings != start.settings) {
        starts.push_back(std::move(start));
      }
    }
  }
  return starts;
}

std::optional<RunningPlan> climb_from(PlanTrials& trials, const std::vector<PlanChange>& starts,
                                      const KeySet& kept, std::int64_t most) {
  const std::int64_t last = trials.tried() + most;
  std::optional<RunningPlan> best;
  for (const PlanChange& start : starts) {
    if (trials.tried() >= last) {
      break;
    }
    std::optional<RunningPlan> found = climb(trials, {start, kept}, last - trials.tried());
    if (found && (!best || found->tokens_per_second_per_gpu > best->tokens_per_second_per_gpu)) {
      best = std::move(found);
    }
  }
  return best;
}

}  // namespace stepcast
