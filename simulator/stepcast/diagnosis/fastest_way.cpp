// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/fastest_way.hpp"

#include <optional>
#include <string>
#include <vector>

#include "stepcast/diagnosis/other_software.hpp"
#include "stepcast/diagnosis/training_changes.hpp"
#include "stepcast/experiment/plan_climb.hpp"

namespace stepcast {
namespace {

// Plans that are tried, a second or two on one core.
constexpr std::int64_t kMost = 20'000;

// What leaves out of an experiment's plan all that a search chooses.
KeySettings without_plan(const ConfigNode& experiment) {
  std::vector<std::string> keys = {"dp"};
  keys.insert(keys.end(), kDividingKeys.begin(), kDividingKeys.end());
  keys.insert(keys.end(), kShardingKeys.begin(), kShardingKeys.end());
  return left_out(experiment, "plan", keys);
}

// `changes` on top of `settings`, each key once.
KeySettings merged(KeySettings settings, const KeySettings& changes) {
  for (const auto& change : changes) {
    std::erase_if(settings, [&change](const auto& known) { return known.first == change.first; });
    settings.push_back(change);
  }
  return settings;
}

FastestWay unchanged(const Projection& base) {
  return {0, {}, base.tokens_per_second_per_gpu, 1.0, base.peak_memory()};
}

// Takes the settings where they give an experiment that runs and is faster.
void take_if_faster(const VariedRun& run, const KeySettings& settings, const Projection& base,
                    FastestWay& fastest) {
  const std::optional<Projection> projection = run.if_possible(settings);
  const bool runs = projection && projection->keeps_power_limit && is_sure(projection->memory);
  if (runs && projection->tokens_per_second_per_gpu > fastest.tokens_per_second_per_gpu) {
    fastest.settings = settings;
    fastest.tokens_per_second_per_gpu = projection->tokens_per_second_per_gpu;
    fastest.gain = projection->tokens_per_second_per_gpu / base.tokens_per_second_per_gpu;
    fastest.peak_memory = projection->peak_memory();
  }
}

}  // namespace

FastestWay fastest_plan(const VariedRun& run, const Projection& base) {
  const Experiment& experiment = run.experiment();
  const KeySet kept = {"plan.dispatcher"};
  PlanTrials trials(experiment, run.cost());
  const std::optional<RunningPlan> near =
      climb(trials, {unchanged_plan(experiment, base.plan), kept}, kMost);
  const std::optional<RunningPlan> far =
      climb_from(trials, usual_starts(experiment, kept), kept, kMost - trials.tried());
  FastestWay fastest = unchanged(base);
  fastest.tried = trials.tried();
  if (near) {
    take_if_faster(run, near->change.settings, base, fastest);
  }
  if (far) {
    take_if_faster(run, merged(without_plan(run.tree().root), far->change.settings), base, fastest);
  }
  return fastest;
}

FastestWay fastest_software(const VariedRun& run, const Projection& base, const DataRoot& data) {
  FastestWay fastest = unchanged(base);
  for (const std::string& set : kindred_software(run.experiment(), data)) {
    ++fastest.tried;
    take_if_faster(run, software_settings(run.tree().root, set), base, fastest);
  }
  return fastest;
}

}  // namespace stepcast
