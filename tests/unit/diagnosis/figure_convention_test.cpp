// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/figure_convention.hpp"

#include <algorithm>

#include "catch.hpp"

namespace stepcast::figure_convention_test {
namespace {

// 4 nodes of 8 GPUs, each copy of the model on 8 of them.
Projection run() {
  Projection p;
  p.gpus = 32;
  p.nodes = 4;
  p.plan.dp = 4;
  p.training.sequence_length = 4096;
  p.active_parameters = 10e9;
  p.flops_per_token = Flops(66e9);
  p.mfu = 0.40;
  p.masked_mfu = 0.38;
  return p;
}

double ratio_of(Metric metric, std::string_view form) {
  const std::vector<FigureConvention> all = conventions_of(metric, run());
  const auto found = std::ranges::find(all, form, &FigureConvention::form);
  REQUIRE(found != all.end());
  return found->ratio;
}

TEST_CASE("a rate may be of more GPUs, or of sequences", "[unit]") {
  CHECK(ratio_of(Metric::kTokenRate, "tokens of all GPUs") == 32.0);
  CHECK(ratio_of(Metric::kTokenRate, "tokens of a node") == 8.0);
  CHECK(ratio_of(Metric::kTokenRate, "tokens of one copy of the model") == 8.0);
  CHECK(ratio_of(Metric::kTokenRate, "sequences of all GPUs") == Approx(32.0 / 4096.0));
}

TEST_CASE("FLOPs may leave attention out or count recomputation", "[unit]") {
  CHECK(ratio_of(Metric::kModelRate, "6 FLOPs a parameter, without attention") ==
        Approx(60.0 / 66.0));
  CHECK(ratio_of(Metric::kModelShare, "attention without what its mask hides") == Approx(0.95));
  CHECK(ratio_of(Metric::kModelShare, "the peak with sparsity") == 0.5);
}

TEST_CASE("a step and a size have no convention", "[unit]") {
  CHECK(conventions_of(Metric::kStepTime, run()).empty());
  CHECK(conventions_of(Metric::kPeakMemory, run()).empty());
}

}  // namespace
}  // namespace stepcast::figure_convention_test
