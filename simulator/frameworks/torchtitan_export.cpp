// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frameworks/torchtitan.hpp"
#include "frameworks/torchtitan_pipeline.hpp"
#include "frameworks/torchtitan_words.hpp"
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
      : experiment_(input.experiment), plan_(input.plan) {}

  ExportedFile file() {
    out_ = "# torchtitan, as of the autumn of 2025: NGPU=" + std::to_string(plan_.world()) +
           " GPUs in all. torchrun ... -m torchtitan.train --job.config_file FILE\n";
    write_model();
    write_training();
    write_parallelism();
    write_recompute();
    write_compile();
    if (plan_.exchange.routing && plan_.exchange.routing->kind == RoutingKind::kRoundRobinForced) {
      section("debug");
      line("moe_force_load_balance", "true");
    }
    return {"train.toml", std::move(out_), std::move(notes_)};
  }

 private:
  void section(std::string_view name) { out_ += "\n[" + std::string(name) + "]\n"; }
  void line(std::string_view key, const std::string& value) {
    out_ += std::string(key) + " = " + value + "\n";
  }
  void line(std::string_view key, std::int64_t value) { line(key, std::to_string(value)); }
  void comment(const std::string& text) { out_ += "# " + text + "\n"; }
  void note(std::string text) {
    comment(text);
    notes_.push_back(std::move(text));
  }

  void write_model() {
    const ModelFlavor* flavor =
        flavor_of(torchtitan_flavors(), experiment_.named.model, experiment_.model.name);
    section("model");
    if (flavor == nullptr) {
      note("torchtitan has no such flavor: register one with the widths of this model.");
      if (experiment_.named.model.empty()) {
        comment(kept_model_name(experiment_.model));
      }
      line("name",
           quoted_text(experiment_.model.family.empty() ? "llama3" : experiment_.model.family));
      line("flavor", quoted_text(experiment_.model.name));
    } else {
      line("name", quoted_text(flavor->module));
      line("flavor", quoted_text(flavor->flavor));
    }
    write_converters();
  }

  void write_converters() {
    const Dtype dtype = experiment_.training.dtype;
    const bool experts = experiment_.model.moe.has_value();
    if (dtype == Dtype::kFp8) {
      line("converters", experts ? R"(["quantize.linear.float8", "quantize.grouped_mm.float8"])"
                                 : R"(["quantize.linear.float8"])");
    } else if (dtype == Dtype::kFp8Block) {
      note("torchtitan's 8 bits with a scale a block are MXFP8.");
      line("converters", experts ? R"(["quantize.linear.mx", "quantize.grouped_mm.mx"])"
                                 : R"(["quantize.linear.mx"])");
    } else if (dtype != Dtype::kBf16) {
      note("torchtitan does not train in " + std::string(name(dtype)) + "; this is bf16.");
    }
  }

  void write_training() {
    const TrainingRecipe& training = experiment_.training;
    section("training");
    // All micro-batches of a rank are one run through the pipeline.
    const std::int64_t local =
        plan_.pp == 1 ? training.micro_batch_size : training.global_batch_size / plan_.dp;
    line("local_batch_size", local);
    line("global_batch_size", training.global_batch_size);
    line("seq_len", training.sequence_length);
  }

  void write_parallelism() {
    section("parallelism");
    write_sharding();
    line("tensor_parallel_degree", plan_.tp);
    if (experiment_.software.async_tp) {
      line("enable_async_tensor_parallel", "true");
    }
    write_pipeline();
    if (plan_.cp > 1) {
      line("context_parallel_degree", plan_.cp);
      const bool gathered = plan_.cp_algorithm == CpAlgorithm::kAllGather;
      if (plan_.cp_heads() > 1) {
        note("torchtitan does not exchange heads among context-parallel ranks.");
      }
      line("context_parallel_rotate_method", quoted_text(gathered ? "allgather" : "alltoall"));
    }
    if (plan_.ep > 1) {
      line("expert_parallel_degree", plan_.ep);
      line("expert_tensor_parallel_degree", plan_.etp);
      write_dispatcher();
    }
  }

  void write_sharding() {
    const std::int64_t inner = plan_.zero == 0 ? 1 : std::max<std::int64_t>(1, shard_group());
    line("data_parallel_replicate_degree", plan_.dp / inner);
    line("data_parallel_shard_degree", inner);
    if (plan_.zero == 1 || plan_.zero == 2) {
      note("torchtitan has no ZeRO-" + std::to_string(plan_.zero) +
           ": parameters are sharded, and stay gathered after forward.");
      line("fsdp_reshard_after_forward", quoted_text("never"));
    } else if (plan_.zero == 3 && plan_.fsdp_reshard != (plan_.pp == 1)) {
      line("fsdp_reshard_after_forward", quoted_text(plan_.fsdp_reshard ? "always" : "never"));
    }
  }
  // Of the dp ranks; torchtitan shards over those of cp as well.
  [[nodiscard]] std::int64_t shard_group() const { return sharded_ranks(plan_) / plan_.cp; }

  void write_pipeline() {
    line("pipeline_parallel_degree", plan_.pp);
    if (plan_.pp == 1) {
      return;
    }
    const bool several = plan_.vpp > 1;
    std::string_view schedule = theirs_of(kTorchtitanSchedules, name(plan_.schedule));
    if (schedule.empty()) {
      note("torchtitan has no schedule " + std::string(name(plan_.schedule)) + ".");
      schedule = several ? "Interleaved1F1B" : "1F1B";
    }
    line("pipeline_parallel_schedule", quoted_text(schedule));
    line("pipeline_parallel_microbatch_size", experiment_.training.micro_batch_size);
    std::vector<std::int64_t> layers;
    for (const StageContent& stage : plan_.stages) {
      layers.push_back(stage.layers);
    }
    if (const auto split =
            torchtitan_split(layers, several ? StageCount::kFromLayers : StageCount::kUsual)) {
      line("pipeline_parallel_first_stage_less_layers", split->first_less);
      line("pipeline_parallel_last_stage_less_layers", split->last_less);
      if (split->layers_per_stage > 0) {
        line("pipeline_parallel_layers_per_stage", split->layers_per_stage);
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
    line("module_fqns_per_model_part", lists + "]");
  }

  void write_dispatcher() {
    const Dispatcher dispatcher = plan_.exchange.dispatcher;
    const std::string_view backend = theirs_of(kTorchtitanBackends, name(dispatcher));
    if (backend.empty()) {
      note("torchtitan has no dispatcher " + std::string(name(dispatcher)) + ".");
    } else if (dispatcher != Dispatcher::kAllToAll) {
      line("expert_parallel_comm_backend", quoted_text(backend));
    }
  }

  void write_recompute() {
    const RecomputeSpec& recompute = experiment_.training.recompute;
    section("activation_checkpoint");
    switch (recompute.kind) {
      case RecomputeKind::kNone:
        line("mode", quoted_text("none"));
        break;
      case RecomputeKind::kFull:
        write_full(recompute);
        break;
      case RecomputeKind::kSelective:
        note("torchtitan chooses operators, not modules.");
        [[fallthrough]];
      case RecomputeKind::kOperators:
        line("mode", quoted_text("selective"));
        line("selective_ac_option", quoted_text("op"));
        break;
      case RecomputeKind::kBudget:
        line("mode", quoted_text("memory_budget"));
        line("memory_budget", shortest_text(recompute.budget));
        break;
    }
  }

  void write_full(const RecomputeSpec& recompute) {
    if (const std::int64_t every = layer_step(recompute.layer_list, experiment_.model.layers)) {
      line("mode", quoted_text("selective"));
      line("selective_ac_option", quoted_text(std::to_string(every)));
      return;
    }
    if (recompute.method == RecomputeMethod::kBlock || recompute.layers > 1 ||
        !recompute.layer_list.empty()) {
      note("torchtitan recomputes all layers or every n-th.");
    }
    line("mode", quoted_text("full"));
  }

  void write_compile() {
    const SoftwareSpec& software = experiment_.software;
    const bool model = software.norm == Implementation::kCompiled;
    const bool loss = software.cross_entropy == Implementation::kCompiled;
    section("compile");
    line("enable", truth(model || loss));
    if (model != loss) {
      line("components", model ? "[\"model\"]" : "[\"loss\"]");
    }
  }

  const Experiment& experiment_;
  const ParallelPlan& plan_;
  std::string out_;
  std::vector<std::string> notes_;
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
