// SPDX-License-Identifier: Apache-2.0
#include "importers/measured_steps.hpp"

#include <algorithm>

#include "importers/loose_fields.hpp"

namespace stepcast {
namespace {

using nlohmann::json;

std::int64_t at_least_one(const json& row, const char* key) {
  return std::max<std::int64_t>(1, json_count(row, key).value_or(1));
}

ModelSpec model_of(const json& row) {
  const json& arch = json_object(row, "arch");
  ModelSpec model;
  model.name = json_text(row, "model");
  model.hidden = at_least_one(arch, "hidden");
  model.layers = at_least_one(row, "layers");
  model.vocabulary = at_least_one(arch, "vocab");
  model.attention.heads = at_least_one(arch, "heads");
  model.attention.kv_heads = at_least_one(arch, "kv_heads");
  model.attention.qk_head_dim = at_least_one(arch, "head_dim");
  model.attention.v_head_dim = model.attention.qk_head_dim;
  model.mlp.ffn_hidden = at_least_one(arch, "ffn");
  if (const auto experts = json_count(arch, "experts")) {
    MoeSpec moe;
    moe.experts = *experts;
    moe.experts_per_token = at_least_one(arch, "topk");
    moe.expert_ffn_hidden = at_least_one(arch, "moe_ffn");
    model.moe = moe;
  }
  return model;
}

// One host: its GPUs share a switch. Local ranks do not talk, so one of them is the whole cluster.
ClusterSpec cluster_from(const json& row, bool local, ProfileCache& profiles) {
  ClusterSpec cluster = cluster_of(profiles.gpu("h200_sxm"), 1);
  cluster.gpus_per_node = local ? 1 : at_least_one(row, "world");
  return cluster;
}

PlanRequest plan_from(const json& row, const std::string& mode) {
  PlanRequest plan;
  plan.given = true;
  plan.zero = mode == "fsdp" || mode == "tp" ? 3 : 0;
  plan.ep = at_least_one(row, "ep");
  if (mode == "tp") {
    plan.tp = at_least_one(row, "tp");
  } else if (mode == "pp") {
    plan.pp = at_least_one(row, "world");
    plan.vpp = at_least_one(row, "v");
  }
  if (const auto hsdp = json_count(row, "hsdp")) {
    plan.hsdp = *hsdp;
  }
  return plan;
}

TrainingRecipe training_from(const json& row, const std::string& mode, const PlanRequest& plan) {
  TrainingRecipe training;
  training.sequence_length = at_least_one(row, "seq");
  training.micro_batch_size = at_least_one(row, "mbs");
  const std::int64_t replicas =
      mode == "local" ? 1 : at_least_one(row, "world") / plan.tp / plan.pp;
  training.global_batch_size = training.micro_batch_size * at_least_one(row, "micro") * replicas;
  if (json_text(row, "ac") == "full") {
    training.recompute.kind = RecomputeKind::kFull;
  }
  return training;
}

std::vector<MeasuredQuantity> quantities_of(const json& row) {
  std::vector<MeasuredQuantity> quantities;
  if (const auto time = json_number(row, "step_s")) {
    quantities.push_back({"step_time_s", *time});
  }
  const auto memory = row.find("peak_alloc_bytes");
  if (memory != row.end() && memory->is_array() && !memory->empty()) {
    const bool by_rank = json_text(row, "mode") == "pp";
    double peak = 0.0;
    std::vector<MeasuredQuantity> ranks;
    for (const json& value : *memory) {
      const double bytes = value.is_number() ? value.get<double>() : 0.0;
      peak = std::max(peak, bytes);
      ranks.push_back({.metric = "peak_memory_bytes",
                       .value = bytes,
                       .rank = static_cast<std::int64_t>(ranks.size())});
    }
    quantities.push_back({"peak_memory_bytes", peak});
    if (by_rank) {
      quantities.insert(quantities.end(), ranks.begin(), ranks.end());
    }
  }
  return quantities;
}

std::string software_of(const json& row, const std::string& mode, const PlanRequest& plan) {
  if (mode == "tp" && plan.tp == at_least_one(row, "world")) {
    return "pytorch_loss_parallel";
  }
  return mode == "local" || mode == "pp" ? "pytorch_bf16" : "pytorch_compiled";
}

}  // namespace

MeasuredRun read_measured_step(const json& row, ProfileCache& profiles) {
  const std::string mode = json_text(row, "mode");
  MeasuredRun run;
  run.id = json_text(row, "case");
  run.gpu = "h200_sxm";
  run.quantities = quantities_of(row);
  Experiment experiment;
  experiment.model = model_of(row);
  run.group = run.gpu + (experiment.model.moe ? " moe" : " dense") + " step";
  experiment.cluster = cluster_from(row, mode == "local", profiles);
  experiment.plan = plan_from(row, mode);
  experiment.training = training_from(row, mode, experiment.plan);
  experiment.software = profiles.software(software_of(row, mode, experiment.plan));
  run.experiment = std::move(experiment);
  return run;
}

}  // namespace stepcast
