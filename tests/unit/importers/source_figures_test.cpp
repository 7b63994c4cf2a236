// SPDX-License-Identifier: Apache-2.0
// What is left out by runs of Megatron Bridge's library recipes, and one scale a tensor in presets.
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::source_figures_test {
namespace {

nlohmann::json bridge_row(const std::string& model, const std::string& gpu = "H100 SXM 80GB") {
  return {{"id", "x"},
          {"family", "dense"},
          {"source", {{"key", "nebius-h100-qwen3"}}},
          {"model", {{"name", model}}},
          {"hardware", {{"gpu", gpu}, {"gpus_per_node", 8}, {"num_gpus", 16}}},
          {"parallel", {{"tp", 4}, {"dp", 4}}},
          {"train",
           {{"seq_len", 4096},
            {"mbs", 1},
            {"gbs", 64},
            {"dtype", "bf16"},
            {"framework", "Megatron-Bridge"}}},
          {"measured", {{"step_time_s", 1.0}}}};
}

Experiment experiment_of(const nlohmann::json& row) {
  const MeasuredRun run = test::run_of(row);
  CAPTURE(run.skipped);
  REQUIRE(run.experiment);
  return *run.experiment;
}

}  // namespace

TEST_CASE("A library recipe of a dense model is launched by the host and keeps sequences whole",
          "[unit]") {
  const Experiment run = experiment_of(bridge_row("Qwen3-4B"));
  CHECK(run.software.name == "megatron_bridge_plain");
  CHECK_FALSE(run.software.cuda_graph);
  CHECK(run.plan.sequence_parallel == false);
  CHECK(run.training.recompute.kind == RecomputeKind::kNone);
  nlohmann::json stated = bridge_row("Qwen3-4B");
  stated["parallel"]["sp"] = true;
  CHECK(experiment_of(stated).plan.sequence_parallel == true);
}

TEST_CASE("Library recipes recompute large models and those with experts", "[unit]") {
  CHECK(experiment_of(bridge_row("Qwen3-32B")).training.recompute.kind == RecomputeKind::kFull);
  nlohmann::json experts = bridge_row("Qwen3-30B-A3B");
  experts["parallel"] = {{"ep", 8}, {"dp", 16}};
  CHECK(experiment_of(experts).training.recompute.kind == RecomputeKind::kFull);
  experts["train"]["recompute"] = "none";
  CHECK(experiment_of(experts).training.recompute.kind == RecomputeKind::kNone);
}

TEST_CASE("Levers of a remark become keys", "[unit]") {
  nlohmann::json row = bridge_row("Qwen3-4B");
  row["notes"] = "20 iterations; unfused attention; activation CPU offload";
  const Experiment run = experiment_of(row);
  CHECK(run.software.attention == AttentionKernel::kUnfused);
  CHECK(run.training.offload.activations);
}

TEST_CASE("Presets capture whole steps of experts with scales of blocks, not with one a tensor",
          "[unit]") {
  nlohmann::json row = bridge_row("Qwen3-30B-A3B", "GB300 NVL72");
  row["source"] = {{"key", "x"}};
  row["hardware"] = {{"gpu", "GB300 NVL72"}, {"gpus_per_node", 4}, {"num_gpus", 4}};
  row["parallel"] = {{"ep", 4}, {"dp", 4}};
  row["train"]["framework"] = "Megatron-Bridge (26.06)";
  row["train"]["dtype"] = "fp8-mx";
  CHECK(experiment_of(row).software.cuda_graph);
  row["train"]["dtype"] = "fp8-cs";
  CHECK_FALSE(experiment_of(row).software.cuda_graph);
}

namespace {

nlohmann::json primus_row(const std::string& key, const std::string& model, const std::string& id) {
  return {{"id", id},
          {"family", "moe"},
          {"source", {{"key", key}}},
          {"model", {{"name", model}}},
          {"hardware", {{"gpu", "MI355X"}, {"gpus_per_node", 8}, {"num_gpus", 8}}},
          {"parallel", {{"ep", 8}, {"dp", 8}, {"zero", 1}}},
          {"train",
           {{"seq_len", 4096},
            {"mbs", 1},
            {"gbs", 64},
            {"dtype", "bf16"},
            {"framework", "Primus Megatron"}}},
          {"measured", {{"step_time_s", 1.0}}}};
}

}  // namespace

TEST_CASE("Primus' DeepSeek-V4 is the shipped model with what its configuration says", "[unit]") {
  nlohmann::json row = primus_row("primus-commit-log", "DeepSeek-V4-Flash", "x");
  row["notes"] = "routing forced even; variant: dispatcher DeepEP";
  const Experiment run = experiment_of(row);
  CHECK_FALSE(run.model.attention.compression.ratios.empty());
  CHECK(run.training.recompute.kind == RecomputeKind::kFull);
  CHECK(run.software.exchange.dispatcher == Dispatcher::kDeepEp);
  row["notes"] = "routing forced even; variant: dispatcher MegaMoE (fused)";
  CHECK(test::run_of(row).skipped ==
        "feature unsupported: MegaMoE, an exchange inside the experts' products");
}

TEST_CASE("What a row of Primus' commits states stands before the model's configuration",
          "[unit]") {
  nlohmann::json row = primus_row("primus-commit-log", "DeepSeek-V4-Flash", "x");
  row["train"]["recompute"] = "none";
  row["notes"] = "routing forced uniform; variant: dispatcher all-to-all";
  const Experiment run = experiment_of(row);
  CHECK(run.training.recompute.kind == RecomputeKind::kNone);
  CHECK(run.software.exchange.dispatcher == Dispatcher::kAllToAll);
  REQUIRE(run.software.exchange.routing);
  CHECK(run.software.exchange.routing->kind == RoutingKind::kUniform);
}

TEST_CASE("No model's exchange inside its products is taken for another one", "[unit]") {
  nlohmann::json row = primus_row("primus-commit-log", "Qwen3-30B-A3B", "x");
  row["notes"] = "variant: dispatcher MegaMoE";
  CHECK(test::run_of(row).skipped ==
        "feature unsupported: MegaMoE, an exchange inside the experts' products");
  row["notes"] = "variant: dispatcher DeepEP";
  CHECK(experiment_of(row).software.exchange.dispatcher == Dispatcher::kDeepEp);
}

TEST_CASE("Primus' notes on GPT-OSS change one thing a row", "[unit]") {
  const auto run = [](const std::string& rung, const std::string& notes = "") {
    nlohmann::json row =
        primus_row("primus-gptoss20b-mlperf", "GPT-OSS-20B", "gptoss20b-mi355x-" + rung);
    row["train"]["framework"] = "Primus Megatron (TE FP8 hybrid, delayed scaling; Turbo off)";
    row["notes"] = notes;
    return experiment_of(row);
  };
  const Experiment base = run("b0");
  CHECK(base.software.name == "primus_legacy");
  CHECK(base.model.attention.sinks);
  CHECK(base.software.checks_gradients);
  CHECK(base.software.gradient_reduce == Bytes(4));
  CHECK(run("b11").software.gradient_reduce == Bytes(2));
  CHECK(run("c1").software.checks_gradients);
  CHECK_FALSE(run("c2").software.checks_gradients);
  CHECK(run("c3").software.gradient_reduce == Bytes(4));
  CHECK(run("c4").software.gradient_reduce == Bytes(2));
  CHECK_FALSE(run("r2").software.residual_in_norm);
  CHECK(run("r3", "fused residual+RMSNorm V2").software.residual_in_norm);
}

}  // namespace stepcast::source_figures_test
