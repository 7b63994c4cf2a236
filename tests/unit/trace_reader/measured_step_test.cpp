// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/measured_step.hpp"

#include <algorithm>

#include "catch.hpp"
#include "stepcast/base/error.hpp"
#include "trace_text.hpp"

namespace stepcast::measured_step_test {
using namespace stepcast::test;

namespace {

MeasuredStep step_of(const std::string& text, const std::string& wanted = "") {
  return measured_step(recording_of(text), "trace.json", wanted);
}

double microseconds(Seconds time) { return 1e6 * time.value(); }

const TracedOperator* row_of(const MeasuredStep& step, const std::string& name) {
  for (const TracedOperator& row : step.operators) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("The kernels of one operator are one call of its shape", "[unit]") {
  // Two calls of aten::mm: the first runs a product and the sum of its parts.
  const char* dims = "[[8, 4], [4, 2]]";
  const MeasuredStep step =
      step_of(trace_text(host_operator("aten::mm", 0, 10, dims), launch(1, 1), launch(2, 2),
                         kernel("nvjet_tst", 1, 20, 5), kernel("splitKreduce", 2, 25, 1),
                         host_operator("aten::mm", 10, 10, dims), launch(3, 12),
                         kernel("nvjet_tst", 3, 30, 6), kernel("triton_red", 0, 40, 2)));
  REQUIRE(step.operators.size() == 2);
  const TracedOperator& product = step.operators[0];
  CHECK(shape_text(product.shape.value()) == "8 x 2 x 4");
  CHECK(product.calls == 2);
  CHECK(product.kernels == 3);
  CHECK(microseconds(product.time) == Approx(12));
  CHECK(step.operators[1].name == "triton_red");
  CHECK(step.with_operator == 3);
  CHECK(microseconds(step.summary.step) == Approx(22));
}

TEST_CASE("The shape is of the nearest operator that has one", "[unit]") {
  const MeasuredStep step = step_of(
      trace_text(host_operator("aten::linear", 0, 10, "[[8, 4], [2, 4]]"),
                 host_operator("aten::t", 1, 5), launch(1, 2), kernel("nvjet_tst", 1, 20, 5)));
  REQUIRE(step.operators.size() == 1);
  CHECK(shape_text(step.operators[0].shape.value()) == "8 x 2 x 4");
}

TEST_CASE("A collective waits beyond the least of its like", "[unit]") {
  // 10, 10, 10, 14 and 26 us of one size: 4 + 16 us of waiting.
  const MeasuredStep step = step_of(trace_text(collective("_allgather_base", 0, 10, 50, 100),
                                               collective("_allgather_base", 100, 26, 50, 100),
                                               collective("_allgather_base", 200, 10, 50, 100),
                                               collective("_allgather_base", 300, 14, 50, 100),
                                               collective("_allgather_base", 400, 10, 50, 100),
                                               collective("_allgather_base", 500, 90, 500, 1000)));
  REQUIRE(step.operators.size() == 2);
  CHECK(shape_text(step.operators[0].shape.value()) == "1.953 KiB / 2");  // the longer one
  CHECK(step.operators[0].waiting == Seconds{});
  CHECK(step.operators[1].calls == 5);
  CHECK(microseconds(step.operators[1].waiting) == Approx(20));
  REQUIRE(step.collectives.size() == 6);
  CHECK(step.collectives[1].order == 1);
  CHECK(microseconds(step.collectives[1].waiting) == Approx(16));
  CHECK(microseconds(step.collectives[1].start) == Approx(100));
}

TEST_CASE("Streams are listed with what they are mostly busy with", "[unit]") {
  const MeasuredStep step =
      step_of(trace_text(kernel("nvjet_tst", 0, 0, 5), kernel("triton_a", 0, 5, 3),
                         kernel("triton_b", 0, 8, 3), collective("allreduce", 2, 30, 10, 10)));
  REQUIRE(step.streams.size() == 2);
  CHECK(step.streams[0].id == 22);
  CHECK(step.streams[0].mostly == StepCategory::kAllReduce);
  CHECK(step.streams[1].calls == 3);
  CHECK(step.streams[1].mostly == StepCategory::kMemoryBound);
}

TEST_CASE("Of marked steps one of median length is taken, and not the first", "[unit]") {
  // Steps of 100 us of the host; their kernels run 50 us late. The first lasts 400 us on the
  // device, the second 150, the third 100, the last 30 until its end.
  const std::string text =
      trace_text(step_mark(3, 0, 100), launch(1, 10), kernel("a", 1, 60, 20),      //
                 step_mark(4, 400, 100), launch(2, 410), kernel("b", 2, 460, 20),  //
                 step_mark(5, 550, 100), launch(3, 560), kernel("c", 3, 610, 20),  //
                 step_mark(6, 650, 100), launch(4, 660), kernel("d", 4, 710, 30),  //
                 kernel("launched before the trace", 99, 20, 5));
  const MeasuredStep step = step_of(text);
  CHECK(step.name == "ProfilerStep#5");
  CHECK(step.steps == 4);
  CHECK(step.follows_others);
  CHECK(microseconds(step.summary.step) == Approx(100));
  CHECK(microseconds(step.summary.idle) == Approx(80));
  REQUIRE(row_of(step, "c") != nullptr);
  CHECK(step.operators.size() == 1);
  const MeasuredStep first = step_of(text, "3");
  CHECK(first.name == "ProfilerStep#3");
  CHECK(first.follows_others);  // the profiler counts from 0
  CHECK(microseconds(first.summary.step) == Approx(400));
  CHECK(first.summary.spans == 1);
  const std::string alone = trace_text(step_mark(0, 0, 100), kernel("a", 0, 60, 20));
  CHECK_FALSE(step_of(alone).follows_others);
  CHECK_THROWS_WITH(step_of(text, "7"),
                    test::contains_text("no step '7'; it has ProfilerStep#3, ProfilerStep#4"));
}

TEST_CASE("The calls of a step are the same in whatever order a trace has its rows", "[unit]") {
  // Of two steps of 100 us of the host the second launches two kernels, which run from 120 to 140
  // and from 150 to 180 us. Times are counted from whichever row comes first.
  std::vector<std::string> rows = {
      step_mark(4, 0, 100), launch(1, 10),  kernel("a", 1, 20, 10),  step_mark(5, 100, 100),
      launch(2, 110),       launch(3, 130), kernel("b", 2, 120, 20), kernel("c", 3, 150, 30)};
  for (std::size_t first = 0; first < rows.size(); ++first) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    CAPTURE(rows.front());
    std::string text;
    for (const std::string& row : rows) {
      text += (text.empty() ? "" : ",\n") + row;
    }
    const MeasuredStep step = step_of(trace_text(text), "5");
    CHECK(step.summary.spans == 2);
    CHECK(microseconds(step.summary.step) == Approx(60));
    CHECK(microseconds(step.summary.idle) == Approx(10));
    // From its own kernel to the first of the next step.
    CHECK(microseconds(step_of(trace_text(text), "4").summary.step) == Approx(100));
  }
}

TEST_CASE("Without marks the whole trace is the step", "[unit]") {
  const std::string text = trace_text(kernel("a", 0, 0, 10), kernel("b", 0, 30, 10));
  const MeasuredStep step = step_of(text);
  CHECK(step.name.empty());
  CHECK(microseconds(step.summary.step) == Approx(40));
  CHECK_THROWS_WITH(step_of(text, "1"), test::contains_text("no marks of steps"));
}

TEST_CASE("Kernels are called by their function", "[unit]") {
  CHECK(short_kernel_name("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::"
                          "OpaqueType<2u>, unsigned int>(unsigned int*)") == "CatArrayBatchedCopy");
  CHECK(short_kernel_name("Memcpy DtoD (Device -> Device)") == "Memcpy DtoD (Device -> Device)");
  CHECK(short_kernel_name("triton_poi_fused_silu_3") == "triton_poi_fused_silu_3");
}

}  // namespace stepcast::measured_step_test
