// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/local_tensors.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast::local_tensors_test {
namespace {

using test::Sample;

const LayerKind kLayer = layer_kind(test::dense_sample().model, 0);

std::vector<double> sorted_tensors(const Sample& sample) {
  std::vector<double> tensors = local_tensors(sample.context(), kLayer);
  std::ranges::sort(tensors, std::greater<>{});
  return tensors;
}

TEST_CASE("what software keeps stacked is one tensor of a rank", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.tp = 2;
  sample.software.fused_qkv = true;
  sample.software.fused_gate_up = true;
  // Halves of gate and up 2 x 4096 x 1024, down 1024 x 4096, queries, keys and values
  // (16 + 2 x 4) x 64 x 1024, output 1024 x 1024; two norms.
  CHECK(sorted_tensors(sample) ==
        std::vector<double>{4'194'304, 2'097'152, 786'432, 524'288, 1024, 1024});
  sample.software.fused_qkv = false;
  sample.software.fused_gate_up = false;
  CHECK(sorted_tensors(sample) == std::vector<double>{2'097'152, 2'097'152, 2'097'152, 524'288,
                                                      524'288, 131'072, 131'072, 1024, 1024});
}

TEST_CASE("each expert of a rank has tensors of its own, frozen ones are left out", "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.dp = 4;
  sample.plan.ep = 4;
  const LayerKind kind = layer_kind(sample.model, 0);
  const std::vector<double> all = local_tensors(sample.context(), kind);
  // 16 experts of 512 over 4 ranks: gate and up 2 x 512 x 1024 of four.
  CHECK(std::ranges::count(all, 1'048'576.0) >= 4);
  double sum = 0.0;
  for (const double elements : all) {
    sum += elements;
  }
  const LocalParameters local = local_parameters(layer_parameters(sample.model, kind), sample.plan);
  CHECK(sum == Approx(local.total()));
}

TEST_CASE("a bucket of DistributedDataParallel is full with the tensor that fills it", "[unit]") {
  CHECK(mean_ddp_bucket({10.0}, 10.0) == Approx(10.0));
  CHECK(mean_ddp_bucket({25.0}, 10.0) == Approx(25.0));
  CHECK(mean_ddp_bucket({4.0}, 10.0) == Approx(12.0).epsilon(0.05));
  // From the last tensor: 6 + 5, 9 + 6, 5 + 9, and again: two layers fill three.
  CHECK(mean_ddp_bucket({9.0, 5.0, 6.0}, 10.0) == Approx(40.0 / 3.0).epsilon(0.1));
  // A bucket is never smaller than asked for, nor larger than that and the largest tensor.
  for (const double least : {1.0, 7.0, 30.0, 100.0}) {
    const double mean = mean_ddp_bucket({9.0, 2.0, 5.0, 6.0}, least);
    CHECK(mean >= least * (1.0 - 1e-9));
    CHECK(mean <= least + 9.0);
  }
}

}  // namespace
}  // namespace stepcast::local_tensors_test
