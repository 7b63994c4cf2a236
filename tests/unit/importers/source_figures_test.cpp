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

}  // namespace stepcast::source_figures_test
