// SPDX-License-Identifier: Apache-2.0
#include "stepcast/experiment/cheapest_savings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "stepcast/experiment/project.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kMostNamed = 3;
constexpr int kMostTogether = 3;
constexpr std::int64_t kChunks = 16;  // of a loss in chunks

using Settings = std::vector<std::pair<std::string, std::string>>;

// Changes an experiment, unless it has the saving already or cannot; then it says nothing.
using Saving = Settings (*)(Experiment&);

Settings recompute_everything(Experiment& experiment) {
  RecomputeSpec& recompute = experiment.training.recompute;
  if (recompute.kind == RecomputeKind::kFull) {
    return {};
  }
  recompute = {};
  recompute.kind = RecomputeKind::kFull;
  return {{"training.recompute", "full"}};
}

Settings one_sequence(Experiment& experiment) {
  if (experiment.training.micro_batch_size == 1) {
    return {};
  }
  experiment.training.micro_batch_size = 1;
  return {{"training.micro_batch_size", "1"}};
}

Settings shard_everything(Experiment& experiment) {
  const ResolvedPlan asked = settle_plan(experiment.plan, experiment.model, experiment.training,
                                         experiment.cluster, experiment.software);
  const std::int64_t ranks = asked.plan.dp * asked.plan.cp;
  if (asked.plan.zero == 3 || ranks == 1) {
    return {};
  }
  experiment.plan.zero.reset();
  experiment.plan.fsdp = ranks;
  return {{"plan.zero", "null"}, {"plan.fsdp", std::to_string(ranks)}};
}

Settings narrow_weights(Experiment& experiment) {
  if (experiment.software.autocast == Autocast::kNone) {
    return {};
  }
  train_in_16_bits(experiment.software);
  experiment.training.weight_format = WeightFormat::kBf16;
  return {{"training.weights", "bf16"}};
}

Settings loss_in_chunks(Experiment& experiment) {
  SoftwareSpec& software = experiment.software;
  if (software.memory.loss_chunks > 1) {
    return {};
  }
  software.memory.loss_chunks = kChunks;
  return {{"software.memory.loss_chunks", std::to_string(kChunks)}};
}

Settings moments_of_8_bits(Experiment& experiment) {
  auto* adam = std::get_if<AdamWSpec>(&experiment.training.optimizer.rule);
  if (adam == nullptr || adam->first || adam->second) {
    return {};
  }
  adam->first = adam->second = StateFormat::kBlock8;
  return {{"training.optimizer", "{kind: adamw, moments: 8bit}"}};
}

Settings optimizer_on_host(Experiment& experiment) {
  OptimizerSpec& optimizer = experiment.training.optimizer;
  const bool known = experiment.cluster.host.core_memory.has_value();
  if (optimizer.offload || !known || experiment.software.memory.optimizer_on_host) {
    return {};
  }
  optimizer.offload = OptimizerOffload{};
  return {{"training.optimizer.offload", "true"}};
}

constexpr std::array<Saving, 7> kSavings = {recompute_everything, one_sequence,   shard_everything,
                                            narrow_weights,       loss_in_chunks, moments_of_8_bits,
                                            optimizer_on_host};

// What a set of savings, a bit each, makes of a plan; nothing where one of them has no effect or
// the plan does not fit with them.
std::optional<FittingPlan> saved(std::uint32_t set, const Experiment& experiment,
                                 const CostModel& cost) {
  Experiment changed = experiment;
  FittingPlan plan;
  for (std::size_t i = 0; i < kSavings.size(); ++i) {
    if ((set >> i & 1U) == 0) {
      continue;
    }
    const Settings settings = kSavings.at(i)(changed);
    if (settings.empty()) {
      return std::nullopt;
    }
    plan.changes.insert(plan.changes.end(), settings.begin(), settings.end());
  }
  const Projection projection = project(changed, cost);
  if (!projection.feasible()) {
    return std::nullopt;
  }
  plan.tokens_per_second_per_gpu = projection.tokens_per_second_per_gpu;
  plan.peak_memory = projection.peak_memory();
  return plan;
}

}  // namespace

std::vector<FittingPlan> cheapest_savings(const Projection& projection,
                                          const Experiment& experiment, const CostModel& cost) {
  if (!projection.priced || !projection.keeps_power_limit || is_sure(projection.memory)) {
    return {};
  }
  std::vector<std::uint32_t> enough;  // sets that fit
  std::vector<FittingPlan> found;
  for (int together = 1; together <= kMostTogether && found.size() < kMostNamed; ++together) {
    for (std::uint32_t set = 1; set < 1U << kSavings.size(); ++set) {
      const bool more_than_enough = std::ranges::any_of(
          enough, [set](std::uint32_t smaller) { return (set & smaller) == smaller; });
      if (std::popcount(set) != together || more_than_enough) {
        continue;
      }
      if (std::optional<FittingPlan> plan = saved(set, experiment, cost)) {
        enough.push_back(set);
        found.push_back(*std::move(plan));
      }
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &FittingPlan::tokens_per_second_per_gpu);
  found.resize(std::min(found.size(), kMostNamed));
  return found;
}

}  // namespace stepcast
