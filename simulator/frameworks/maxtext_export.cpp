// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "frameworks/maxtext.hpp"
#include "frameworks/written_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

// "1, 2, 3, 6": of the number of layers, the numbers of stages that it divides into.
std::string divisors(std::int64_t number) {
  std::string text = "1";
  for (std::int64_t i = 2; i <= number; ++i) {
    text += number % i == 0 ? ", " + std::to_string(i) : "";
  }
  return text;
}

class MaxTextFile {
 public:
  explicit MaxTextFile(const ExportInput& input)
      : experiment_(input.experiment),
        plan_(input.plan),
        words_(maxtext_words(input.data)),
        out_(": ", "MaxText: python3 -m maxtext.trainers.pre_train.train FILE, on " +
                       std::to_string(plan_.world()) + " GPUs.") {}

  ExportedFile file() {
    out_.text("base_config", "base.yml");
    out_.text("run_name", file_name_of(experiment_.model.name));
    out_.text("hardware", "gpu");
    write_model();
    const bool unfused = experiment_.software.attention == AttentionKernel::kUnfused;
    out_.text("attention", unfused ? "dot_product" : "cudnn_flash_te");
    out_.text("dataset_type", "synthetic");
    out_.line("enable_checkpointing", "false");
    write_batch();
    write_precision();
    write_recompute();
    write_optimizer();
    write_pipeline();
    write_mesh();
    return out_.file("train.yml");
  }

 private:
  void write_model() {
    const ModelFlavor* known =
        flavor_of(words_.models(), experiment_.named.model, experiment_.model.name);
    if (known != nullptr) {
      out_.text("model_name", known->flavor);
      return;
    }
    const std::string name = file_name_of(experiment_.model.name);
    out_.note("MaxText has no such model: add configs/models/" + name + ".yml.");
    if (experiment_.named.model.empty()) {
      out_.comment(kept_model_name(experiment_.model));
    }
    out_.text("model_name", name);
  }

  // A GPU's part of the sequences that go through at once.
  void write_batch() {
    const TrainingRecipe& training = experiment_.training;
    const std::int64_t at_once =
        training.micro_batch_size * (plan_.pp == 1 ? 1 : plan_.micro_batches);
    out_.line("per_device_batch_size",
              shortest_text(static_cast<double>(at_once) /
                            static_cast<double>(plan_.tp * plan_.cp * plan_.pp)));
    if (plan_.pp == 1 && plan_.micro_batches > 1) {
      out_.line("gradient_accumulation_steps", plan_.micro_batches);
    }
    out_.line("max_target_length", training.sequence_length);
  }

  void write_precision() {
    const std::string_view dtype = name(experiment_.training.dtype);
    if (experiment_.training.dtype == Dtype::kBf16) {
      return;  // what runs where nothing is said
    }
    const std::string known = words_.theirs_of("quantization", dtype);
    if (!known.empty()) {
      out_.text("quantization", known);
    } else {
      out_.note("MaxText does not train in " + std::string(dtype) + "; this is bf16.");
    }
  }

  void write_recompute() {
    const RecomputeSpec& recompute = experiment_.training.recompute;
    switch (recompute.kind) {
      case RecomputeKind::kNone:
        out_.text("remat_policy", "none");
        return;
      case RecomputeKind::kFull:
        if (recompute.method == RecomputeMethod::kBlock || !recompute.layer_list.empty()) {
          out_.note("MaxText recomputes all layers alike.");
        }
        out_.text("remat_policy", "full");
        return;
      case RecomputeKind::kSelective:
      case RecomputeKind::kOperators:
      case RecomputeKind::kBudget:
        out_.text("remat_policy", policy_of(recompute));
        return;
    }
  }

  static std::string_view policy_of(const RecomputeSpec& recompute) {
    const bool attention = recompute.recomputes(RecomputeModule::kCoreAttention);
    if (recompute.recomputes(RecomputeModule::kMlp)) {
      return attention ? "save_dot_except_mlp" : "save_dot_with_context_except_mlp";
    }
    return attention ? "minimal" : "minimal_with_context";
  }

  void write_optimizer() {
    const OptimizerSpec& optimizer = experiment_.training.optimizer;
    const auto* sgd = std::get_if<SgdSpec>(&optimizer.rule);
    if (sgd != nullptr && !sgd->momentum.kept) {
      out_.text("opt_type", "sgd");
    } else if (optimizer.kind() == OptimizerKind::kMuon) {
      out_.text("opt_type", "muon");
    } else if (optimizer.kind() != OptimizerKind::kAdamW) {
      out_.note("MaxText has no " + std::string(name(optimizer.kind())) + " as it is asked for.");
    }
    const auto* adamw = std::get_if<AdamWSpec>(&optimizer.rule);
    if (adamw != nullptr && adamw->first == StateFormat::kBf16) {
      out_.text("mu_dtype", "bfloat16");
    }
  }

  void write_pipeline() {
    if (plan_.pp == 1) {
      return;
    }
    out_.line("num_layers_per_pipeline_stage", experiment_.model.layers / (plan_.pp * plan_.vpp));
    out_.line("num_pipeline_microbatches", plan_.micro_batches);
    if (plan_.schedule != Schedule::kGpipe) {
      out_.note("MaxText runs all forward passes of a step first; this is not " +
                std::string(name(plan_.schedule)) + ".");
    }
    if (plan_.micro_batches % plan_.pp != 0) {
      out_.note("MaxText asks for a multiple of the stages.");
    }
  }

  // Within a node what exchanges most; the pipeline between nodes.
  void write_mesh() {
    std::int64_t room = std::gcd(experiment_.cluster.gpus_per_node, plan_.world());
    const std::int64_t shards = plan_.zero == 3 ? plan_.fsdp / (plan_.ep * plan_.cp) : 1;
    write_axis("tensor", plan_.tp, room);
    write_axis("context", plan_.cp, room);
    if (plan_.cp > 1) {
      out_.text("context_parallel_strategy",
                plan_.cp_algorithm == CpAlgorithm::kRing ? "ring" : "all_gather");
    }
    write_axis("expert", plan_.ep, room);
    write_axis("fsdp", shards, room);
    write_axis("data", plan_.dp / (plan_.ep * shards), room);
    write_axis("pipeline", plan_.pp, room);
    if (plan_.zero == 1 || plan_.zero == 2) {
      out_.line("shard_optimizer_over_data", "true");
    }
    if (plan_.zero != 3 && plan_.ep * plan_.cp > 1) {
      out_.note(
          "MaxText shards parameters outside the experts over the ranks of experts and contexts; "
          "this is not ZeRO-" +
          std::to_string(plan_.zero) + ".");
    }
  }

  void write_axis(const std::string& axis, std::int64_t degree, std::int64_t& room) {
    const std::int64_t inside = std::gcd(degree, room);
    room /= inside;
    out_.line("dcn_" + axis + "_parallelism", degree / inside);
    out_.line("ici_" + axis + "_parallelism", inside);
  }

  const Experiment& experiment_;
  const ParallelPlan& plan_;
  FrameworkWords words_;
  KeyLines out_;
};

}  // namespace

std::vector<ExportRefusal> why_not_maxtext(const ExportInput& input) {
  const ParallelPlan& plan = input.plan;
  const Experiment& experiment = input.experiment;
  std::vector<ExportRefusal> refusals;
  if (experiment.model.moe && plan.etp != plan.tp) {
    refusals.push_back({"plan.etp", std::to_string(plan.etp),
                        "it cuts experts by tensor parallelism as the rest",
                        "take " + std::to_string(plan.tp)});
  }
  const std::int64_t layers = experiment.model.layers;
  const std::int64_t dense = experiment.model.moe ? experiment.model.moe->first_dense_layers : 0;
  if (plan.pp > 1 && dense > 0) {
    refusals.push_back({"plan.pp", std::to_string(plan.pp),
                        "its pipeline holds the layers with experts alone, not the " +
                            std::to_string(dense) + " before them",
                        "take 1"});
  } else if (const std::int64_t stages = plan.pp * plan.vpp; layers % stages != 0) {
    refusals.push_back({"plan.pp", std::to_string(plan.pp),
                        "its pipeline has the same number of layers in each stage, which " +
                            std::to_string(layers) + " layers in " + std::to_string(stages) +
                            " stages do not give",
                        "take pp * vpp of " + divisors(layers)});
  }
  if (const std::int64_t inner = plan.ep * plan.cp; plan.zero == 3 && plan.fsdp % inner != 0) {
    refusals.push_back({"plan.fsdp", std::to_string(plan.fsdp),
                        "it shards over whole groups of experts and contexts",
                        "take a multiple of ep * cp, " + std::to_string(inner)});
  }
  if (auto part =
          trains_less(experiment.training.weights, "its pretraining trains all parameters")) {
    refusals.push_back(*std::move(part));
  }
  return refusals;
}

std::vector<ExportedFile> export_maxtext(const ExportInput& input) {
  return {MaxTextFile(input).file()};
}

}  // namespace stepcast
