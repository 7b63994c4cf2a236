// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/memory_savings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "stepcast/experiment/training_changes.hpp"
#include "stepcast/memory/memory_footprint.hpp"

namespace stepcast {
namespace {

struct NamedChange {
  std::string what;
  KeySettings settings;
};

class MemoryChanges {
 public:
  MemoryChanges(const ConfigNode& tree, const Experiment& experiment, const ParallelPlan& plan)
      : tree_(tree), e_(experiment), plan_(plan) {}

  std::vector<NamedChange> all() {
    add_training();
    add_plan();
    add_offload();
    if (e_.software.memory.loss_chunks == 1) {
      add("the loss in 8 chunks", {{"software.memory.loss_chunks", "8"}});
    }
    if (!e_.software.memory.expandable_segments) {
      add("expandable segments", {{"software.memory.expandable_segments", "true"}});
    }
    return std::move(found_);
  }

 private:
  void add(std::string what, KeySettings settings) {
    found_.push_back({std::move(what), std::move(settings)});
  }

  void add_training() {
    const TrainingRecipe& training = e_.training;
    if (training.micro_batch_size % 2 == 0) {
      add("micro-batches of half the sequences",
          {{"training.micro_batch_size", std::to_string(training.micro_batch_size / 2)}});
    }
    if (training.recompute.kind == RecomputeKind::kNone) {
      add("selective recomputation", recomputation_settings(tree_, RecomputeKind::kSelective));
    }
    if (training.recompute.kind != RecomputeKind::kFull) {
      add("full recomputation", recomputation_settings(tree_, RecomputeKind::kFull));
    }
  }

  void add_plan() {
    constexpr std::int64_t kLastStage = 3;
    const KeySettings loose = left_out(tree_, "plan", {"dp", "fsdp", "hsdp"});
    const auto with = [&loose](const std::string& key, const std::string& value) {
      KeySettings settings = loose;
      settings.emplace_back(key, value);
      return settings;
    };
    if (plan_.zero < kLastStage) {
      for (const std::int64_t stage : std::set{plan_.zero + 1, kLastStage}) {
        add("ZeRO " + std::to_string(stage), with("plan.zero", std::to_string(stage)));
      }
    } else if (!plan_.fsdp_reshard) {
      add("weights resharded after forward", {{"plan.fsdp_reshard", "true"}});
    }
    add("context parallelism twice as wide", with("plan.cp", std::to_string(2 * plan_.cp)));
  }

  void add_offload() {
    if (!e_.training.optimizer.offload) {
      add("offload of the optimizer", optimizer_offload_settings(tree_));
    }
    if (!e_.training.offload.parameters) {
      add("offload of parameters", {{"training.offload.parameters", "true"}});
    }
    if (!e_.training.offload.activations) {
      add("offload of activations", {{"training.offload.activations", "true"}});
    }
  }

  const ConfigNode& tree_;
  const Experiment& e_;
  const ParallelPlan& plan_;
  std::vector<NamedChange> found_;
};

// Of the GPU that uses most.
Bytes in_use(const Projection& projection) {
  Bytes most;
  for (const StageMemory& stage : projection.memory) {
    most = max(most, stage.in_use());
  }
  return most;
}

bool is_as_large(Bytes size, Bytes tried) {
  constexpr double kSameSize = 0.02;
  return std::abs(size / tried - 1.0) < kSameSize;
}

std::vector<TensorOfSize> tensors_of(const Projection& projection, Bytes tried) {
  std::vector<TensorOfSize> found;
  const auto take = [&](std::string what, Bytes size) {
    if (is_as_large(size, tried)) {
      found.push_back({std::move(what), size});
    }
  };
  if (const StageMemory* fullest = projection.fullest_stage()) {
    take("logits and loss", fullest->loss);
    take("backward workspace", fullest->workspace);
    take("gathered weights", fullest->gathered);
    take("gradients to reduce", fullest->reduced);
    take("exchange of experts", fullest->exchange);
  }
  for (const SavedLayer& layer : projection.saved) {
    for (const SavedTensor& tensor : layer.tensors) {
      take("saved by a " + layer.kind + ": " + std::string(name(tensor.id)), tensor.bytes);
    }
  }
  return found;
}

}  // namespace

MemoryDiagnosis diagnose_memory(const VariedRun& run, const Experiment& experiment,
                                std::optional<Bytes> tried) {
  constexpr Bytes kLeastSaved{10.0 * 1024.0 * 1024.0};
  MemoryDiagnosis d;
  d.projection = run.projected({});
  d.tried = tried;
  if (!d.projection.priced) {
    return d;
  }
  if (tried) {
    d.as_large = tensors_of(d.projection, *tried);
  }
  for (NamedChange& change : MemoryChanges(run.tree().root, experiment, d.projection.plan).all()) {
    const std::optional<Projection> with = run.if_possible(change.settings);
    const Bytes saved = with ? in_use(d.projection) - in_use(*with) : Bytes{};
    if (with && saved > kLeastSaved) {
      d.savings.push_back({std::move(change.what), std::move(change.settings), in_use(*with), saved,
                           with->tokens_per_second_per_gpu / d.projection.tokens_per_second_per_gpu,
                           odds_on(with->memory)});
    }
  }
  std::ranges::stable_sort(d.savings, std::greater<>(), &MemorySaving::pace);
  return d;
}

}  // namespace stepcast
