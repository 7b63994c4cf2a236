// SPDX-License-Identifier: Apache-2.0
#include "importers/row_readers.hpp"

#include "catch.hpp"
#include "stepcast/layer/sharding.hpp"
#include "stepcast/model/parameter_inventory.hpp"
#include "unit/importers/table_runs.hpp"

namespace stepcast::vtrain_runs_test {
using stepcast::test::problems_in;
using stepcast::test::runs_in;

namespace {

const std::string kColumns =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";

}  // namespace

TEST_CASE("A run of vTrain over nodes is a GPT with recomputation and reductions of its own",
          "[unit]") {
  const std::vector<MeasuredRun> runs =
      runs_in(kColumns + "64,512,8,3072,32,30,2048,1,64,1,3566.5\n");
  REQUIRE(runs.size() == 1);
  const Experiment& experiment = *runs[0].experiment;
  CHECK(runs[0].group == "a100_80gb vtrain multi");
  CHECK(runs[0].quantities[0].value == Approx(3.5665));
  CHECK(static_cast<double>(count_parameters(experiment.model).total) ==
        Approx(3.6e9).epsilon(0.02));
  CHECK(experiment.training.recompute.kind == RecomputeKind::kFull);
  CHECK(experiment.training.dtype == Dtype::kFp16);
  // 800 Gb/s a node of 8
  CHECK(experiment.cluster.device.scale_out.nic_rate.value() == Approx(12.5e9));
  CHECK(experiment.cluster.nodes == 8);
}

TEST_CASE("A run of vTrain within a node keeps its activations", "[unit]") {
  const std::vector<MeasuredRun> runs = runs_in(kColumns + "2,16,8,1024,16,24,1024,1,1,2,372.16\n");
  CHECK(runs[0].group == "a100_80gb vtrain single");
  CHECK(runs[0].experiment->training.recompute.kind == RecomputeKind::kNone);
  CHECK(runs[0].experiment->cluster.gpus() == 2);
}

TEST_CASE("Within a node the ranks share GPT-2's vocabulary without padding", "[unit]") {
  const std::vector<MeasuredRun> runs =
      runs_in(kColumns + "2,16,8,1024,16,24,1024,1,1,2,372.16\n" +
              "4,16,8,1024,16,24,1024,4,1,1,372.16\n" + "64,512,8,3072,32,30,2048,8,8,1,3566.5\n");
  REQUIRE(runs.size() == 3);
  const auto local = [&](std::size_t i) {
    const Experiment& experiment = *runs[i].experiment;
    ParallelPlan plan;
    plan.tp = experiment.plan.tp;
    return local_vocabulary(experiment.model, plan, experiment.software);
  };
  CHECK(local(0) == 50'257);
  CHECK(local(1) == 12'564);  // 50,257 / 4, whole
  CHECK(local(2) == 6400);    // Megatron: 51,200 / 8, multiples of 128
}

TEST_CASE("Wrong rows of vTrain's tables are reported together", "[unit]") {
  const std::vector<Diagnostic> problems =
      problems_in(kColumns + "12,16,8,1024,16,24,1024,1,1,2,372.16\n" +
                  "2,16,8,1024,16,24,1024,1,1,2,-3\n" + "2,16,,1024,16,24,1024,1,1,2,372\n");
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].message.find("whole nodes of 8") != std::string::npos);
  CHECK(problems[1].where.line == 3);
  CHECK(problems[2].message.find("'micro batch'") != std::string::npos);
}

}  // namespace stepcast::vtrain_runs_test
