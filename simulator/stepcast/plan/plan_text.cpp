// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/plan_text.hpp"

#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

std::string count(std::int64_t value) { return with_separators(value); }

// " (qkv, o)", by the names of values.
template <typename Values>
std::string list_of(const Values& values) {
  return " (" + text_list(values, ", ", [](const auto value) { return name(value); }) + ")";
}

std::string full_recompute_text(const RecomputeSpec& recompute) {
  if (!recompute.layer_list.empty()) {
    return "full (" + std::to_string(recompute.layer_list.size()) + " layers named)";
  }
  const std::string layers = std::to_string(recompute.layers);
  if (recompute.method == RecomputeMethod::kBlock) {
    return "full (block, " + layers + " layers a stage)";
  }
  return recompute.layers == 1 ? "full" : "full (uniform, runs of " + layers + ")";
}

// ", lora rank 16 (qkv, o)" and ", frozen (embedding)"; nothing where all of the model is trained.
std::string weights_text(const TrainedWeights& weights) {
  std::string text;
  if (weights.lora) {
    text += ", lora rank " + count(weights.lora->rank) + list_of(weights.lora->targets);
    if (weights.quantised_base()) {
      text += " beside " + std::string(name(weights.lora->base));
    }
  }
  if (weights.frozen && !weights.frozen->empty()) {
    text += ", frozen" + list_of(*weights.frozen);
  }
  return text;
}

// ", parameters and activations of 8 layers a stage on the host".
std::string offload_text(const HostOffload& offload) {
  if (!offload.any()) {
    return {};
  }
  std::string text = offload.parameters ? ", parameters" : "";
  if (offload.activations) {
    text += offload.parameters ? " and activations" : ", activations";
    text += offload.activation_layers > 0
                ? " of " + count(offload.activation_layers) + " layers a stage"
                : "";
  }
  return text + " on the host";
}

}  // namespace

std::string recompute_text(const RecomputeSpec& recompute) {
  switch (recompute.kind) {
    case RecomputeKind::kBudget:
      return "memory_budget " + shortest_text(recompute.budget);
    case RecomputeKind::kFull:
      return full_recompute_text(recompute);
    case RecomputeKind::kSelective:
      if (recompute.modules != RecomputeSpec{}.modules) {
        return "selective" + list_of(recompute.modules);
      }
      break;
    default:
      break;
  }
  return std::string(name(recompute.kind));
}

std::string training_text(const TrainingRecipe& training) {
  return std::string(name(training.dtype)) + ", sequence " + count(training.sequence_length) +
         ", global batch " + count(training.global_batch_size) + ", micro-batch " +
         count(training.micro_batch_size) + ", recompute " + recompute_text(training.recompute) +
         weights_text(training.weights) + offload_text(training.offload);
}

std::string plan_line(const ParallelPlan& plan) {
  std::string text =
      "tp " + count(plan.tp) + (plan.sequence_parallel ? " (sequence parallel)" : "");
  text += ", cp " + count(plan.cp);
  if (plan.cp > 1) {
    text += " (" + std::string(name(plan.cp_algorithm));
    const bool both = plan.cp_algorithm == CpAlgorithm::kAllToAllRing;
    text += both ? ", heads over " + std::to_string(plan.cp_all_to_all) + ")" : ")";
  }
  text += ", pp " + count(plan.pp);
  text += plan.vpp > 1 ? " x " + count(plan.vpp) + " virtual" : "";
  if (plan.schedule != Schedule::kOneFOneB && plan.schedule != Schedule::kInterleaved) {
    text += " (" + std::string(name(plan.schedule)) + ")";
  }
  text += ", ep " + count(plan.ep) + (plan.etp > 1 ? ", etp " + count(plan.etp) : "");
  if (plan.ep > 1 && plan.exchange.dispatcher != Dispatcher::kAllToAll) {
    text += " (" + std::string(name(plan.exchange.dispatcher)) + ")";
  }
  text += ", dp " + count(plan.dp);
  text += plan.zero == 3 ? ", fsdp " + count(plan.fsdp) : ", zero " + count(plan.zero);
  text += plan.order == AxisOrder{} ? "" : ", order " + text_of(plan.order);
  return text;
}

}  // namespace stepcast
