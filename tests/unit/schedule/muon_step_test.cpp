// SPDX-License-Identifier: Apache-2.0
#include "stepcast/schedule/optimizer_step.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/built_stage.hpp"
#include "stepcast/memory/memory_footprint.hpp"
#include "stepcast/schedule/host_launches.hpp"

namespace stepcast::muon_step_test {
namespace {

using test::nearly;
using test::Sample;

// 4,096 x 14,336 alone, five steps.
WeightMatrices one_down() {
  WeightMatrix down;
  down.outputs = 4096;
  down.inputs = 14'336;
  down.count = 1;
  return {down};
}

Sample muon_sample(const MuonSpec& muon = {}) {
  Sample sample = test::dense_sample();
  sample.training.optimizer.rule = muon;
  return sample;
}

UpdateOps update_of(const Sample& sample) {
  StageBuilder builder;
  return optimizer_ops(sample.context(), builder.stage(sample.context(), 0).weights());
}
UpdateOps steps_over(const Sample& sample, const WeightMatrices& matrices) {
  UpdateOps update;
  add_muon_step(sample.context(), matrices, update);
  return update;
}

double flops_of(const UpdateOps& update) {
  double sum = 0.0;
  for (const RepeatedOps& part : update) {
    for (const Op& op : part.ops) {
      sum += static_cast<double>(part.times) * flops(op).value();
    }
  }
  return sum;
}
double elements_of(const UpdateOps& update, OpId id) {
  double sum = 0.0;
  for (const RepeatedOps& part : update) {
    for (const Op& op : part.ops) {
      sum +=
          op.id == id ? static_cast<double>(part.times * std::get<MemoryBound>(op.work).cols) : 0.0;
    }
  }
  return sum;
}
double bytes_of(const UpdateOps& update, OpId id) {
  double sum = 0.0;
  for (const RepeatedOps& part : update) {
    for (const Op& op : part.ops) {
      sum += op.id == id
                 ? static_cast<double>(part.times) * std::get<Collective>(op.work).bytes.value()
                 : 0.0;
    }
  }
  return sum;
}

TEST_CASE("five Newton-Schulz steps of 4,096 x 14,336 are 5.498 TFLOP", "[case]") {
  CHECK(flops_of(steps_over(muon_sample(), one_down())) == 5.0 * 1'099'511'627'776.0);
  MuonSpec ten;
  ten.steps = 10;
  CHECK(flops_of(steps_over(muon_sample(ten), one_down())) == 10.0 * 1'099'511'627'776.0);
}

TEST_CASE("hidden matrices are Muon's and the rest is AdamW's", "[case]") {
  const Sample sample = muon_sample();
  const UpdateOps update = update_of(sample);
  // A layer has q, o, k, v, gate, up and down; beside them embedding, head and 17 norms.
  const double hidden = 8.0 * (2.0 * 1024 * 1024 + 2.0 * 256 * 1024 + 3.0 * 4096 * 1024);
  CHECK(elements_of(update, OpId::kMuonUpdate) == hidden);
  CHECK(elements_of(update, OpId::kMuonMomentum) == hidden);
  CHECK(elements_of(update, OpId::kMuonNesterov) == hidden);
  CHECK(elements_of(update, OpId::kOptimizer) == 2.0 * 32'000 * 1024 + 17.0 * 1024);
  MuonSpec plain;
  plain.nesterov = false;
  CHECK(elements_of(update_of(muon_sample(plain)), OpId::kMuonNesterov) == 0.0);
}

// As Megatron's layer-wise optimizer has it: 8 layers over 8 ranks, one layer's work each.
TEST_CASE("whole matrices divide the iterations and move nothing of their own", "[case]") {
  Sample sample = muon_sample();
  const double alone = flops_of(update_of(sample));
  sample.plan.dp = sample.plan.edp = 8;
  sample.plan.zero = 0;
  CHECK(flops_of(update_of(sample)) == nearly(alone));  // every replica does all
  sample.plan.zero = 1;
  CHECK(flops_of(update_of(sample)) == nearly(alone / 8.0));
  CHECK(bytes_of(update_of(sample), OpId::kMuonGather) == 0.0);
  // Of sixteen ranks eight have a gate with up, 8,192 x 1,024, and nothing else.
  sample.plan.dp = sample.plan.edp = 16;
  CHECK(flops_of(update_of(sample)) == 5.0 * 2.0 * 1024 * 1024 * (2.0 * 8192 + 1024));
  CHECK(flops_of(update_of(sample)) > 1.05 * alone / 16.0);
}

TEST_CASE("where each matrix is divided it is gathered, or goes to an owner and back", "[case]") {
  Sample sample = muon_sample();
  const double alone = flops_of(update_of(sample));
  const double hidden = elements_of(update_of(sample), OpId::kMuonUpdate);
  sample.plan.dp = sample.plan.edp = sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  // The rank's parts of 8 matrices to their owners, in bf16.
  CHECK(flops_of(update_of(sample)) == nearly(alone / 8.0));
  CHECK(bytes_of(update_of(sample), OpId::kMuonToOwner) == nearly(2.0 * hidden / 8.0));
  CHECK(bytes_of(update_of(sample), OpId::kMuonFromOwner) == nearly(2.0 * hidden / 8.0));
  CHECK(elements_of(update_of(sample), OpId::kMuonUpdate) == nearly(hidden / 8.0));
  std::get<MuonSpec>(sample.training.optimizer.rule).sharding = MuonSharding::kGather;
  CHECK(flops_of(update_of(sample)) == nearly(alone));
  CHECK(bytes_of(update_of(sample), OpId::kMuonGather) == nearly(2.0 * hidden));
}

TEST_CASE("tensor parallelism gathers momenta, sums products of rows, or moves nothing", "[case]") {
  Sample sample = muon_sample();
  const double alone = flops_of(update_of(sample));
  const double hidden = elements_of(update_of(sample), OpId::kMuonUpdate);
  sample.plan.tp = 4;
  const auto with = [&](MuonTensorParallel mode) {
    std::get<MuonSpec>(sample.training.optimizer.rule).tp_mode = mode;
    return update_of(sample);
  };
  const UpdateOps duplicated = with(MuonTensorParallel::kDuplicated);
  CHECK(flops_of(duplicated) == nearly(alone));
  CHECK(bytes_of(duplicated, OpId::kMuonTpGather) == nearly(4.0 * hidden));
  CHECK(elements_of(duplicated, OpId::kMuonUpdate) == nearly(hidden / 4.0));
  const UpdateOps distributed = with(MuonTensorParallel::kDistributed);
  CHECK(flops_of(distributed) < alone);
  CHECK(bytes_of(distributed, OpId::kMuonTpGather) == 0.0);
  CHECK(bytes_of(distributed, OpId::kMuonGramSum) > 0.0);
  const UpdateOps blockwise = with(MuonTensorParallel::kBlockwise);
  CHECK(flops_of(blockwise) < flops_of(distributed));
  CHECK(bytes_of(blockwise, OpId::kMuonGramSum) == 0.0);
}

// Master copy and momentum of 4 bytes each; AdamW's of 12 for the embedding, the head and norms.
TEST_CASE("Muon's states take 8 bytes a hidden parameter", "[case]") {
  Sample sample = muon_sample();
  const double hidden = elements_of(update_of(sample), OpId::kMuonUpdate);
  const double rest = 2.0 * 32'000 * 1024 + 17.0 * 1024;
  CHECK(memory_by_stage(sample.context()).front().optimizer.value() ==
        nearly(8.0 * hidden + 12.0 * rest));
  // Eight layers over eight ranks: all alike.
  sample.plan.dp = sample.plan.edp = 8;
  sample.plan.zero = 1;
  CHECK(memory_by_stage(sample.context()).front().optimizer.value() ==
        nearly((8.0 * hidden + 12.0 * rest) / 8.0));
  // The fullest of sixteen has more than the mean.
  sample.plan.dp = sample.plan.edp = 16;
  CHECK(memory_by_stage(sample.context()).front().optimizer.value() ==
        nearly(8.0 * 8192 * 1024 + 12.0 * rest / 16.0));
}

// Sums of rows and of columns in place of a second moment; of norms the moment itself.
TEST_CASE("Adafactor keeps sums of rows and columns of each matrix", "[case]") {
  Sample sample = test::dense_sample();
  sample.training.optimizer.rule = AdafactorSpec{};
  const double sums =
      8.0 * (1024 + 1536 + 1024 + 1024 + 1024 + 8192 + 4096 + 1024) + 2.0 * (32'000 + 1024);
  StageBuilder builder;
  const double all = builder.stage(sample.context(), 0).parameters.all().total();
  CHECK(memory_by_stage(sample.context()).front().optimizer.value() ==
        nearly(4.0 * all + 4.0 * sums + 4.0 * 17.0 * 1024));
}

struct OnHost {
  Sample sample = test::dense_sample();
  ClusterSpec cluster = test::round_cluster(1);
  CostModel cost;

  OnHost() {
    cluster.host.device_link = BytesPerSecond(50e9);
    cluster.host.core_memory = BytesPerSecond(100e9);
    cluster.host.socket_memory = BytesPerSecond(400e9);
    cluster.host.socket_devices = 4;
    cluster.host.norm_memory = BytesPerSecond(10e9);
  }
  [[nodiscard]] double seconds() const {
    const ExpansionContext context = sample.context();
    return offload_time({context, cluster, cost, Hertz(1e9)}, {{1e9, 0.0, 0.0, 0.0}, {}}).value();
  }
};

// 1e9 parameters: 4 bytes of gradient and 2 of parameter over 50 GB/s; 28 bytes at 10 ms a GB of
// its core and 10 of a socket of 400 GB/s that 4 devices share.
TEST_CASE("an optimizer on the host takes both transfers and the update", "[case]") {
  OnHost on_host;
  CHECK(on_host.seconds() == 0.0);
  on_host.sample.training.optimizer.offload = OptimizerOffload{};
  CHECK(on_host.seconds() == nearly(0.08 + 0.04 + 28.0 / 50.0));
  on_host.sample.training.optimizer.offload->overlap = true;
  CHECK(on_host.seconds() == nearly(28.0 / 50.0));
  on_host.sample.training.optimizer.offload->share = 0.5;
  CHECK(on_host.seconds() == nearly(14.0 / 50.0));
  on_host.cluster.gpus_per_node = 1;
  CHECK(on_host.seconds() == nearly(14.0 / 80.0));
  // The device updates the rest.
  const UpdateOps update = update_of(on_host.sample);
  StageBuilder builder;
  const double all = builder.stage(on_host.sample.context(), 0).parameters.all().total();
  CHECK(elements_of(update, OpId::kOptimizer) == nearly(0.5 * all));
  const Bytes half = memory_by_stage(on_host.sample.context()).front().optimizer;
  on_host.sample.training.optimizer.offload.reset();
  CHECK(memory_by_stage(on_host.sample.context()).front().optimizer == 2.0 * half);
}

}  // namespace
}  // namespace stepcast::muon_step_test
