// SPDX-License-Identifier: Apache-2.0
// What a projection says, as plain numbers; every report is made from this and from nothing else.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/base/sum.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/part_standing.hpp"
#include "stepcast/hardware/provenance.hpp"
#include "stepcast/layer/graph_capture.hpp"
#include "stepcast/layer/saved_tensor.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/model/routing.hpp"
#include "stepcast/plan/uncarried_saving.hpp"
#include "stepcast/result/expected_error.hpp"
#include "stepcast/result/training_run.hpp"
#include "stepcast/schedule/step_time.hpp"

namespace stepcast {

// What one layer of a kind keeps of a micro-batch for backward.
struct SavedLayer {
  std::string kind;         // "dense layer", "MoE layer"
  bool recomputed = false;  // some such layers keep their input only
  std::vector<SavedTensor> tensors;
};

// Of a routing that loads experts unevenly, or of a capacity that drops tokens.
struct UnevenExperts {
  ExpertLoad load;
  double balanced_tokens_per_second_per_gpu = 0.0;  // with a uniform routing and all else equal
  Seconds waiting;  // of a step, that a rank of mean load waits for the fullest one and for copies
};

// A plan that fits, near one that does not.
struct FittingPlan {
  std::int64_t tried = 0;  // plans
  std::optional<std::int64_t>
      gpus{};  // the fewest with a plan that runs, where no change is enough
  // What it changes, as --set takes it: {"training.recompute", "full"}; nothing where none fits.
  std::vector<std::pair<std::string, std::string>> changes;
  double tokens_per_second_per_gpu = 0.0;
  Bytes peak_memory;
};

// A constant, and how much of a step's time rests on it (experiment/provenance_shares.hpp says what
// "rests on" means).
struct RestingConstant {
  Provenance constant;
  std::string source;  // what the key of its source stands for; why it is assumed
  double share = 0.0;  // of the step's time
};

struct ProvenanceShares {
  std::vector<RestingConstant> constants;  // the largest share first; they add up to 1

  // Of all constants of a kind.
  [[nodiscard]] double of(SourceKind kind) const {
    return sum_over(constants, [kind](const RestingConstant& entry) {
      return entry.constant.kind == kind ? entry.share : 0.0;
    });
  }
};

// What an uncarried setting could save at most: all that it touches, on the fullest rank.
struct UncountedSaving {
  UncarriedSaving saving;
  Bytes most;
};

struct Projection {
  // The resolved input: all of it as a tree (experiment/settled_input.hpp), and what reports say of
  // it one by one.
  ConfigNode input;
  std::string model;
  std::string model_title{};
  std::string gpu;
  std::string gpu_title{};
  PartStanding gpu_standing = PartStanding::kShipped;
  std::string cluster;
  std::string software;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  TrainingRecipe training;
  ParallelPlan plan;
  Hertz clock;
  bool clock_locked = false;
  // Kernels have clocks of their own (cost/power_state.hpp), and `clock` is that of products.
  bool own_clocks = false;
  bool clock_of_bursts = false;   // what holds `clock` is bursts, and mean power is below the limit
  Watts power;                    // mean, of one GPU of the slowest rank
  bool keeps_power_limit = true;  // else it is among the reasons
  std::map<std::string, std::string> backends;  // role -> name
  double parameters = 0.0;
  double active_parameters = 0.0;

  // The answer. Without `priced` the plan does not divide, and there are only reasons.
  bool priced = false;
  std::vector<std::string> reasons;  // why it cannot run
  std::vector<std::string> notes;
  std::vector<CaptureBlocker> capture_blockers;  // of the step in one CUDA graph
  StepTime time;
  std::vector<StageMemory> memory;
  std::vector<SavedLayer> saved;  // one layer of each kind
  Bytes memory_capacity;
  double memory_sure = 0.0;  // the odds of not running out of it from which it fits
  double tokens_per_second_per_gpu = 0.0;
  Flops flops_per_token;
  FlopsPerSecond model_rate_per_gpu;
  FlopsPerSecond peak_rate;  // dense, of the training dtype, at the rated clock
  double mfu = 0.0;
  double masked_mfu = 0.0;  // of the pairs of positions alone that the mask leaves
  std::optional<ExpectedError> expected_error;
  std::optional<ProvenanceShares> provenance;  // only where a report asks for it
  // Beside a plan that does not fit, where it was looked for; without changes there is none.
  std::optional<FittingPlan> nearest_fit;
  std::vector<FittingPlan> savings;  // that make it fit (experiment/cheapest_savings.hpp)
  // What memory counts whole although the file that was imported lowers it.
  std::vector<UncountedSaving> uncounted_savings;
  std::optional<UnevenExperts> uneven_experts;
  std::optional<TrainingRun> run;  // of which the step is one, where tokens were given
  std::optional<GpuHourPrice> gpu_hour;

  // The one verdict behind exit codes and the words of every report.
  [[nodiscard]] bool feasible() const { return priced && reasons.empty(); }
  // Whether a token takes some of the parameters only.
  [[nodiscard]] bool has_experts() const { return active_parameters < parameters; }
  // The pipeline rank that needs most memory.
  [[nodiscard]] const StageMemory* fullest_stage() const {
    const auto fullest = std::ranges::max_element(memory, {}, &StageMemory::total);
    return fullest == memory.end() ? nullptr : &*fullest;
  }
  [[nodiscard]] Bytes peak_memory() const {
    const StageMemory* fullest = fullest_stage();
    return fullest == nullptr ? Bytes{} : fullest->total();
  }
};

}  // namespace stepcast
