// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_pipeline.hpp"
#include "frameworks/torchtitan_words.hpp"
#include "frameworks/words.hpp"
#include "frameworks/written_text.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

std::string truth(bool value) { return value ? "true" : "false"; }

// n where the list is every n-th of `layers` layers, the last of each n; else 0.
std::int64_t layer_step(const std::vector<std::int64_t>& listed, std::int64_t layers) {
  if (listed.empty()) {
    return 0;
  }
  const std::int64_t every = listed.front() + 1;
  std::vector<std::int64_t> stepped;
  for (std::int64_t layer = every - 1; layer < layers; layer += every) {
    stepped.push_back(layer);
  }
  return stepped == listed ? every : 0;
}

// Over which a copy of the parameters is spread; of ZeRO 1 and 2 their states.
std::int64_t sharded_ranks(const ParallelPlan& plan) {
  return plan.zero == 3 ? plan.fsdp : plan.replicas();
}

class TorchtitanFile {
 public:
  explicit TorchtitanFile(const ExportInput& input)
      : experiment_(input.experiment),
        plan_(input.plan),
        words_(torchtitan_words(input.data)),
        out_(" = ", "torchtitan, as of the autumn of 2025: NGPU=" + std::to_string(plan_.world()) +
                        " GPUs in all. torchrun ... -m torchtitan.train --job.config_file FILE") {}

  ExportedFile file() {
    // 9810191bb
    if (experiment_.software.span.since >= "2026-02-23") {
      out_.note("torchtitan of " + experiment_.software.date +
                " reads recipes in Python alone; this is the last form of its TOML files.");
    }
    write_model();
    write_training();
    write_parallelism();
    write_recompute();
    write_compile();
    if (plan_.exchange.routing && plan_.exchange.routing->kind == RoutingKind::kRoundRobinForced) {
      out_.section("debug");
      out_.line("moe_force_load_balance", "true");
    }
    return out_.file("train.toml");
  }

 private:
  void write_model() {
    const ModelFlavor* flavor =
        flavor_of(words_.models(), experiment_.named.model, experiment_.model.name);
    out_.section("model");
    if (flavor == nullptr) {
      out_.note("torchtitan has no such flavor: register one with the widths of this model.");
      if (experiment_.named.model.empty()) {
        out_.comment(kept_model_name(experiment_.model));
      }
      out_.text("name", experiment_.model.family.empty() ? "llama3" : experiment_.model.family);
      out_.text("flavor", experiment_.model.name);
    } else {
      out_.text("name", flavor->module);
      out_.text("flavor", flavor->flavor);
    }
    write_converters();
  }

  void write_converters() {
    const Dtype dtype = experiment_.training.dtype;
    const bool experts = experiment_.model.moe.has_value();
    if (dtype == Dtype::kFp8) {
      out_.line("converters", experts
                                  ? R"(["quantize.linear.float8", "quantize.grouped_mm.float8"])"
                                  : R"(["quantize.linear.float8"])");
    } else if (dtype == Dtype::kFp8Block) {
      out_.note("torchtitan's 8 bits with a scale a block are MXFP8.");
      out_.line("converters", experts ? R"(["quantize.linear.mx", "quantize.grouped_mm.mx"])"
                                      : R"(["quantize.linear.mx"])");
    } else if (dtype != Dtype::kBf16) {
      out_.note("torchtitan does not train in " + std::string(name(dtype)) + "; this is bf16.");
    }
  }

  void write_training() {
    const TrainingRecipe& training = experiment_.training;
    out_.section("training");
    // All micro-batches of a rank are one run through the pipeline.
    const std::int64_t local =
        plan_.pp == 1 ? training.micro_batch_size : training.global_batch_size / plan_.dp;
    out_.line("local_batch_size", local);
    out_.line("global_batch_size", training.global_batch_size);
    out_.line("seq_len", training.sequence_length);
  }

  void write_parallelism() {
    out_.section("parallelism");
    write_sharding();
    out_.line("tensor_parallel_degree", plan_.tp);
    if (experiment_.software.async_tp) {
      out_.line("enable_async_tensor_parallel", "true");
    }
    write_pipeline();
    if (plan_.cp > 1) {
      out_.line("context_parallel_degree", plan_.cp);
      const bool gathered = plan_.cp_algorithm == CpAlgorithm::kAllGather;
      if (plan_.cp_heads() > 1) {
        out_.note("torchtitan does not exchange heads among context-parallel ranks.");
      }
      out_.text("context_parallel_rotate_method", gathered ? "allgather" : "alltoall");
    }
    if (plan_.ep > 1) {
      out_.line("expert_parallel_degree", plan_.ep);
      out_.line("expert_tensor_parallel_degree", plan_.etp);
      write_dispatcher();
    }
  }

  void write_sharding() {
    const std::int64_t inner = plan_.zero == 0 ? 1 : std::max<std::int64_t>(1, shard_group());
    out_.line("data_parallel_replicate_degree", plan_.dp / inner);
    out_.line("data_parallel_shard_degree", inner);
    if (plan_.zero == 1 || plan_.zero == 2) {
      out_.note("torchtitan has no ZeRO-" + std::to_string(plan_.zero) +
                ": parameters are sharded, and stay gathered after forward.");
      out_.text("fsdp_reshard_after_forward", "never");
    } else if (plan_.zero == 3 && plan_.fsdp_reshard != (plan_.pp == 1)) {
      out_.text("fsdp_reshard_after_forward", plan_.fsdp_reshard ? "always" : "never");
    }
  }
  // Of the dp ranks; torchtitan shards over those of cp as well.
  [[nodiscard]] std::int64_t shard_group() const { return sharded_ranks(plan_) / plan_.cp; }

  void write_pipeline() {
    out_.line("pipeline_parallel_degree", plan_.pp);
    if (plan_.pp == 1) {
      return;
    }
    const bool several = plan_.vpp > 1;
    std::string_view schedule = theirs_of(kTorchtitanSchedules, name(plan_.schedule));
    if (schedule.empty()) {
      out_.note("torchtitan has no schedule " + std::string(name(plan_.schedule)) + ".");
      schedule = several ? "Interleaved1F1B" : "1F1B";
    }
    out_.text("pipeline_parallel_schedule", schedule);
    out_.line("pipeline_parallel_microbatch_size", experiment_.training.micro_batch_size);
    std::vector<std::int64_t> layers;
    for (const StageContent& stage : plan_.stages) {
      layers.push_back(stage.layers);
    }
    if (const auto split =
            torchtitan_split(layers, several ? StageCount::kFromLayers : StageCount::kUsual)) {
      out_.line("pipeline_parallel_first_stage_less_layers", split->first_less);
      out_.line("pipeline_parallel_last_stage_less_layers", split->last_less);
      if (split->layers_per_stage > 0) {
        out_.line("pipeline_parallel_layers_per_stage", split->layers_per_stage);
      }
    } else {
      write_modules();
    }
  }

  void write_modules() {
    std::string lists = "[\n";
    std::int64_t layer = 0;
    for (const StageContent& stage : plan_.stages) {
      std::string modules = stage.embedding ? "\"tok_embeddings\", " : "";
      for (std::int64_t i = 0; i < stage.layers; ++i) {
        modules += "\"layers." + std::to_string(layer++) + "\", ";
      }
      modules += stage.loss ? R"("norm", "output", )" : "";
      lists += "  [" + modules.substr(0, modules.size() < 2 ? 0 : modules.size() - 2) + "],\n";
    }
    out_.line("module_fqns_per_model_part", lists + "]");
  }

  void write_dispatcher() {
    const Dispatcher dispatcher = plan_.exchange.dispatcher;
    const std::string backend =
        words_.theirs_of("parallelism.expert_parallel_comm_backend", name(dispatcher));
    if (backend.empty()) {
      out_.note("torchtitan has no dispatcher " + std::string(name(dispatcher)) + ".");
    } else if (dispatcher != Dispatcher::kAllToAll) {
      out_.text("expert_parallel_comm_backend", backend);
    }
  }

  void write_recompute() {
    const RecomputeSpec& recompute = experiment_.training.recompute;
    out_.section("activation_checkpoint");
    switch (recompute.kind) {
      case RecomputeKind::kNone:
        out_.text("mode", "none");
        break;
      case RecomputeKind::kFull:
        write_full(recompute);
        break;
      case RecomputeKind::kSelective:
        out_.note("torchtitan chooses operators, not modules.");
        [[fallthrough]];
      case RecomputeKind::kOperators:
        out_.text("mode", "selective");
        out_.text("selective_ac_option", "op");
        break;
      case RecomputeKind::kBudget:
        out_.text("mode", "memory_budget");
        out_.line("memory_budget", shortest_text(recompute.budget));
        break;
    }
  }

  void write_full(const RecomputeSpec& recompute) {
    if (const std::int64_t every = layer_step(recompute.layer_list, experiment_.model.layers)) {
      out_.text("mode", "selective");
      out_.text("selective_ac_option", std::to_string(every));
      return;
    }
    if (recompute.method == RecomputeMethod::kBlock || recompute.layers > 1 ||
        !recompute.layer_list.empty()) {
      out_.note("torchtitan recomputes all layers or every n-th.");
    }
    out_.text("mode", "full");
  }

  void write_compile() {
    const SoftwareSpec& software = experiment_.software;
    const bool model = software.norm == Implementation::kCompiled;
    const bool loss = software.cross_entropy == Implementation::kCompiled;
    out_.section("compile");
    out_.line("enable", truth(model || loss));
    if (model != loss) {
      out_.line("components", model ? "[\"model\"]" : "[\"loss\"]");
    }
  }

  const Experiment& experiment_;
  const ParallelPlan& plan_;
  FrameworkWords words_;
  KeyLines out_;
};

}  // namespace

std::vector<ExportRefusal> why_not_torchtitan(const ExportInput& input) {
  const ParallelPlan& plan = input.plan;
  std::vector<ExportRefusal> refusals;
  const bool together = input.experiment.model.moe && plan.ep == 1;
  if (plan.etp != plan.tp && (plan.etp != 1 || together)) {
    refusals.push_back({"plan.etp", std::to_string(plan.etp),
                        "it cuts experts by tensor parallelism as the rest, or with plan.ep not "
                        "at all",
                        "take " + std::to_string(plan.tp) + (together ? "" : " or 1")});
  }
  const std::int64_t group = sharded_ranks(plan);
  if (plan.zero > 0 &&
      (group % plan.cp != 0 || plan.dp % std::max<std::int64_t>(1, group / plan.cp) != 0)) {
    refusals.push_back(
        {"plan.fsdp", std::to_string(group),
         "it shards over whole groups of context parallelism, plan.cp " + std::to_string(plan.cp),
         "take a multiple of that which divides the replicas"});
  }
  if (auto part = trains_less(input.experiment.training.weights,
                              "its files of this time train all parameters")) {
    refusals.push_back(*std::move(part));
  }
  return refusals;
}

std::vector<ExportedFile> export_torchtitan(const ExportInput& input) {
  return {TorchtitanFile(input).file()};
}

}  // namespace stepcast
