// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/best_plan.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/settle/settle_plan.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/plan_evaluator.hpp"
#include "stepcast/sweep/plan_search.hpp"
#include "stepcast/sweep/sweep_axes.hpp"
#include "stepcast/sweep/sweep_ranking.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

// Small, since spaces of one experiment are, and every thread should have a part.
constexpr std::int64_t kChunk = 256;

// Plans that a climb looks at, at most.
constexpr std::int64_t kMostClimbed = 20'000;

// Plans that a search tries that begins near a good plan.
constexpr std::int64_t kNearSearch = 1'000;

// Keys of a plan that say how software works rather than how to divide: they are kept.
const std::array<std::string, 2> kNotSearched = {"dispatcher", "overlap"};

// What a search chooses beside the plan.
const std::array<std::string, 2> kSearchedOfTraining = {"micro_batch_size",
                                                        std::string(kRecomputeKey)};

// Whether a key of `training` is one that says more of the recomputation.
bool details_recomputation(std::string_view key) {
  const TrainingKey* known = training_key(key);
  return known != nullptr && known->of_recompute.has_value();
}

// `changes` on top of `settings`.
PlanSettings merged(PlanSettings settings, const PlanSettings& changes) {
  for (const auto& change : changes) {
    std::erase_if(settings, [&change](const auto& known) { return known.first == change.first; });
    settings.push_back(change);
  }
  return settings;
}

void add_counts(const SearchedPlans& some, SearchedPlans& all) {
  all.plans += some.plans;
  all.priced += some.priced;
  all.bounded += some.bounded;
  for (const auto& [reason, plans] : some.refused) {
    all.refused[reason] += plans;
  }
}

// What a climb on a site found, if it is faster.
void take_climbed(const std::optional<RunningPlan>& top, const PlanTrials& trials, std::size_t site,
                  BestPlan& result) {
  add_counts(trials.searched(), result.searched);
  if (!top || (result.best && top->tokens_per_second_per_gpu <= result.tokens_per_second_per_gpu)) {
    return;
  }
  result.best = SweepRequest{site, top->change.plan, top->change.training};
  result.tokens_per_second_per_gpu = top->tokens_per_second_per_gpu;
  result.searched.settings = top->change.settings;
  result.from_given = false;
}

// A plan of the space, if it is as fast as what is known, and then what lies around it.
void climb_from_plan(const SweepSpace& space, const PlanNumbers& plan,
                     const std::vector<CostModel>& costs, const KeySet& kept,
                     const std::shared_ptr<SolvedPipelines>& pipelines, BestPlan& result) {
  if (result.best && plan.tokens_per_second_per_gpu < result.tokens_per_second_per_gpu) {
    return;
  }
  const bool climbed = result.best && result.plan == plan.plan;
  result.plan = plan.plan;
  result.best = space.request(plan.plan);
  result.tokens_per_second_per_gpu = plan.tokens_per_second_per_gpu;
  result.searched.settings = settings_of(space, plan.plan);
  result.from_given = false;
  if (climbed || !space.constraints().empty()) {
    return;
  }
  const std::size_t site = result.best->site;
  PlanTrials trials(space.sites()[site], costs[site], pipelines);
  const PlanChange start{result.searched.settings, result.best->plan, result.best->training};
  const std::optional<RunningPlan> top = climb(trials, {start, kept}, kMostClimbed);
  take_climbed(top, trials, site, result);
}

// "plan.tp" of "tp=8" that an override sets, or every key of the mapping that it sets.
void add_keys_of(const Override& override, KeySet& keys) {
  const std::size_t equals = std::min(override.assignment.find('='), override.assignment.size());
  const std::string key = override.assignment.substr(0, equals);
  const std::string value =
      override.assignment.substr(std::min(equals + 1, override.assignment.size()));
  ConfigNode alone;
  apply_override(alone, Override("value=" + value, override.place));
  const ConfigNode node = *alone.find("value");
  if (node.kind == ConfigNode::Kind::kMapping && key.find('.') == std::string::npos) {
    for (const ConfigEntry& entry : node.entries) {
      keys.insert(key + "." + entry.key);
    }
  } else if (node.kind == ConfigNode::Kind::kNull) {
    keys.erase(key);
  } else {
    keys.insert(key);
  }
}

bool is_free(const std::string& key, const KeySet& free) {
  const std::string_view own = unqualified(key);
  const std::string recompute = "training." + std::string(kRecomputeKey);
  return free.contains(key) ||
         (key.starts_with("training.") && details_recomputation(own) && free.contains(recompute));
}

// What an override says of keys that are free does not count.
void drop_free(std::vector<Override>& overrides, const KeySet& free) {
  std::erase_if(overrides, [&free](const Override& override) {
    return is_free(override.assignment.substr(0, override.assignment.find('=')), free);
  });
}

// Whether a search chooses a key of `training` whatever the file says of it.
bool is_searched_of_training(const std::string& key) {
  return std::ranges::find(kSearchedOfTraining, key) != kSearchedOfTraining.end() ||
         details_recomputation(key);
}

// Of the keys of a section that satisfy `is_left_out`, settings that leave them out.
template <typename IsLeftOut>
void leave_out(const ConfigNode& root, const std::string& section, const IsLeftOut& is_left_out,
               PlanSettings& settings) {
  const ConfigNode* node = root.find(section);
  for (const ConfigEntry& entry : node == nullptr ? std::vector<ConfigEntry>() : node->entries) {
    if (is_left_out(entry.key)) {
      settings.emplace_back(section + "." + entry.key, "null");
    }
  }
}

}  // namespace

KeySet overridden_keys(const std::vector<Override>& overrides) {
  KeySet keys;
  for (const Override& override : overrides) {
    add_keys_of(override, keys);
  }
  return keys;
}

std::vector<std::string> searched_keys() {
  std::vector<std::string> keys = {"plan.dispatcher"};
  const auto add = [&keys](const std::string& section) {
    return [&keys, section](std::string_view key) { keys.push_back(section + std::string(key)); };
  };
  std::ranges::for_each(kDividingKeys, add("plan."));
  std::ranges::for_each(kShardingKeys, add("plan."));
  std::ranges::for_each(kSearchedOfTraining, add("training."));
  return keys;
}

std::optional<std::string> searched_key(std::string_view name) {
  for (const std::string& key : searched_keys()) {
    const std::string_view own = unqualified(key);
    const TrainingKey* known = key.starts_with("training.") ? training_key(own) : nullptr;
    if (name == key || name == own || (known != nullptr && name == known->short_name) ||
        (own == "micro_batch_size" && name == "micro_batch")) {
      return key;
    }
  }
  return std::nullopt;
}

bool states_dispatcher(const ConfigNode& root) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kKeys = {
      {{"plan", "dispatcher"}, {"software", "dispatcher"}, {"software", "deepep"}}};
  return std::ranges::any_of(kKeys, [&root](const auto& key) {
    const ConfigNode* section = root.find(key.first);
    return section != nullptr && section->kind == ConfigNode::Kind::kMapping &&
           section->find(key.second) != nullptr;
  });
}

KeySet kept_keys(const SweepSource& experiment, const KeySet& free) {
  KeySet kept;
  const ConfigNode root = parse_config(experiment.text, experiment.name);
  if (states_dispatcher(root) && !free.contains("plan.dispatcher")) {
    kept.insert("plan.dispatcher");
  }
  for (const std::string& key : overridden_keys(experiment.overrides)) {
    if (is_free(key, free)) {
      continue;
    }
    const bool of_plan = key.starts_with("plan.") && unqualified(key) != "all";
    if (of_plan || key == "training.micro_batch_size") {
      kept.insert(key);
    } else if (key.starts_with("training.recompute") || details_recomputation(unqualified(key))) {
      kept.insert("training." + std::string(kRecomputeKey));
    }
  }
  return kept;
}

SweepSource with_all_plans(SweepSource experiment, const KeySet& free) {
  drop_free(experiment.overrides, free);
  std::vector<Override> own = {"plan={}"};
  const ConfigNode root = parse_config(experiment.text, experiment.name);
  const ConfigNode* plan = root.find("plan");
  for (const std::string& key : kNotSearched) {
    const ConfigNode* value = plan == nullptr ? nullptr : plan->find(key);
    if (value != nullptr && !free.contains("plan." + key)) {
      own.emplace_back("plan." + key + "=" + flow_text(*value));
    }
  }
  PlanSettings left_out;
  leave_out(root, "training", is_searched_of_training, left_out);
  for (const auto& [key, value] : left_out) {
    own.emplace_back(key + "=" + value);
  }
  experiment.overrides.insert(experiment.overrides.begin(), own.begin(), own.end());
  experiment.overrides.emplace_back("plan.all=offered");
  return experiment;
}

PlanSettings settings_on(const SweepSource& experiment, const KeySet& free, const BestPlan& found) {
  if (found.from_given) {
    return found.searched.settings;
  }
  PlanSettings left_out;
  const ConfigNode root = parse_config(experiment.text, experiment.name);
  leave_out(root, "training", is_searched_of_training, left_out);
  leave_out(
      root, "plan",
      [&free](const std::string& key) {
        return std::ranges::find(kNotSearched, key) == kNotSearched.end() ||
               free.contains("plan." + key);
      },
      left_out);
  return merged(std::move(left_out), found.searched.settings);
}

namespace {

// From the plan of the experiment on.
void climb_from_given(const PlanQuestion& question, const CostModel& cost,
                      const std::shared_ptr<SolvedPipelines>& pipelines, BestPlan& result) {
  const Experiment& site = *question.given;
  const ParallelPlan own =
      settle_plan(site.plan, site.model, site.training, site.cluster, site.software).plan;
  PlanTrials trials(site, cost, pipelines);
  const std::optional<RunningPlan> top =
      climb(trials, {unchanged_plan(site, own), question.kept}, kMostClimbed);
  take_climbed(top, trials, 0, result);
  result.from_given = result.best.has_value();
}

// From plans with which searches usually begin.
void climb_from_usual(const SweepSpace& space, const std::vector<CostModel>& costs,
                      const KeySet& kept, const std::shared_ptr<SolvedPipelines>& pipelines,
                      BestPlan& result) {
  if (space.constraints().empty()) {
    PlanTrials trials(space.sites().front(), costs.front(), pipelines);
    const std::optional<RunningPlan> top =
        climb_from(trials, usual_starts(space.sites().front(), kept), kept);
    take_climbed(top, trials, 0, result);
  }
}

constexpr auto kRankBy = RankBy::kTokensPerSecondPerGpu;
constexpr SearchGoal kGoal{kRankBy, 1, false, false};

// What was found before every plan of a space is looked at: a plan that the best one must beat.
Incumbents known_plan(const SweepSpace& space, const BestPlan& found) {
  Incumbents known(kGoal);
  if (found.best) {
    PlanNumbers numbers;
    numbers.plan = space.size();  // none of the space's
    numbers.tokens_per_second_per_gpu = found.tokens_per_second_per_gpu;
    known.add(numbers, space.sites()[found.best->site].cluster.gpus());
  }
  return known;
}

}  // namespace

BestPlan best_plan(const SweepSpace& space, const std::vector<CostModel>& costs, int threads,
                   const PlanQuestion& question,
                   const std::shared_ptr<SolvedPipelines>& pipelines) {
  BestPlan result;
  if (question.given) {
    climb_from_given(question, costs.front(), pipelines, result);
  }
  climb_from_usual(space, costs, question.kept, pipelines, result);
  PlanEvaluator evaluator(space, costs, pipelines);
  if (const LikelyBest likely = likely_best(space, evaluator, kRankBy, {}); likely.best) {
    climb_from_plan(space, *likely.best, costs, question.kept, pipelines, result);
  }
  TalliedChunks store(space, 1, [](const std::vector<PlanNumbers>&) {});
  SweepRun run;
  run.grid = {space.size(), kChunk};
  run.threads = threads;
  run.evaluator = evaluators_beside(space, costs, known_plan(space, result), pipelines);
  run_sweep(run, store, {});
  const SweepSummary summary = store.summary();
  add_counts({space.size(), summary.priced, summary.bounded, summary.refused, {}, {}},
             result.searched);
  if (!summary.best.empty()) {
    climb_from_plan(space, summary.best.front(), costs, question.kept, pipelines, result);
  }
  return result;
}

BestPlan likely_best_plan(const SweepSpace& space, const std::vector<CostModel>& costs,
                          const LikelySearch& search,
                          const std::shared_ptr<SolvedPipelines>& pipelines) {
  BestPlan result;
  if (space.constraints().empty()) {
    const Experiment& site = space.sites().front();
    std::vector<PlanChange> starts = search.near;
    if (search.widely) {
      std::ranges::move(usual_starts(site, search.kept), std::back_inserter(starts));
    }
    PlanTrials trials(site, costs.front(), pipelines);
    const std::optional<RunningPlan> top =
        climb_from(trials, starts, search.kept, search.widely ? kQuickSearch : kNearSearch);
    take_climbed(top, trials, 0, result);
    return result;
  }
  PlanEvaluator evaluator(space, costs, pipelines);
  const LikelyBest found = likely_best(space, evaluator, RankBy::kTokensPerSecondPerGpu, {});
  result.searched.plans = found.looked_at;
  result.searched.refused = found.refused;
  result.searched.priced =
      found.looked_at - sum_over(found.refused, [](const auto& entry) { return entry.second; });
  if (found.best) {
    climb_from_plan(space, *found.best, costs, search.kept, pipelines, result);
  }
  return result;
}

std::vector<std::string> why_no_plan(const SearchedPlans& searched) {
  return each_of(by_count(searched.refused), [&searched](const auto& refused) {
    return with_separators(refused.second) + " of " + with_separators(searched.plans) +
           " plans: " + refused.first;
  });
}

PlanSettings settings_of(const SweepSpace& space, std::int64_t index) {
  PlanSettings settings;
  for (std::size_t i = 0; i < space.axes().size(); ++i) {
    const SweepAxis& axis = space.axes()[i];
    const std::vector<std::string>& texts = axis.values[space.digit(index, i)];
    for (std::size_t key = 0; key < texts.size(); ++key) {
      if (!texts[key].empty()) {
        settings.emplace_back(axis.keys[key], texts[key]);
      }
    }
  }
  return settings;
}

}  // namespace stepcast
