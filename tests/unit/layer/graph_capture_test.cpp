// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/graph_capture.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::graph_capture_test {
namespace {

using test::exchanging_sample;
using test::Sample;
using Blockers = std::vector<CaptureBlocker>;

Blockers blockers_of(const Sample& sample) {
  return capture_blockers(sample.model, sample.plan, sample.software);
}

TEST_CASE("a dense step can be captured, unless the host reads whether gradients are numbers",
          "[unit]") {
  Sample sample = test::dense_sample();
  CHECK(blockers_of(sample).empty());
  sample.software.checks_gradients = true;
  CHECK(blockers_of(sample) == Blockers{CaptureBlocker::kChecksGradients});
}

TEST_CASE("rows that arrive by the routing keep a step from being captured", "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kAllToAll);
  CHECK(blockers_of(sample) ==
        Blockers{CaptureBlocker::kHostReadsRows, CaptureBlocker::kDynamicRows});
  sample.plan.exchange.capacity_factor = 1.0;
  CHECK(blockers_of(sample).empty());
  sample = exchanging_sample(Dispatcher::kAllToAll);
  sample.plan.ep = 1;
  CHECK(blockers_of(sample).empty());
}

TEST_CASE("a buffer of fixed size lets a step be captured", "[unit]") {
  CHECK(blockers_of(exchanging_sample(Dispatcher::kMinimalAsyncEp)).empty());
  CHECK(blockers_of(exchanging_sample(Dispatcher::kDeepEp)) ==
        Blockers{CaptureBlocker::kHostReadsRows, CaptureBlocker::kDynamicRows});
}

TEST_CASE(
    "experts that are launched one by one are captured only where a capacity fixes their rows",
    "[unit]") {
  Sample sample = exchanging_sample(Dispatcher::kMinimalAsyncEp);
  sample.software.grouped_gemm = GroupedGemmMode::kLegacy;
  CHECK(blockers_of(sample) == Blockers{CaptureBlocker::kExpertsOneByOne});
  sample = exchanging_sample(Dispatcher::kAllToAll);
  sample.software.grouped_gemm = GroupedGemmMode::kLegacy;
  sample.plan.exchange.capacity_factor = 1.0;
  CHECK(blockers_of(sample).empty());
}

TEST_CASE("reports have a sentence for each reason against a capture", "[unit]") {
  for (const std::string_view text : names_of<CaptureBlocker>()) {
    CHECK(text.size() > 20);
  }
  CHECK(name(CaptureBlocker::kChecksGradients) == "the host reads whether gradients are numbers");
}

}  // namespace
}  // namespace stepcast::graph_capture_test
