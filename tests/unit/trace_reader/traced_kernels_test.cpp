// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/traced_kernels.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "trace_text.hpp"

namespace stepcast::traced_kernels_test {
using namespace stepcast::test;

namespace {

std::vector<MeasuredKernel> kernels_of(const std::string& text) {
  return traced_kernels(measured_step(recording_of(text), "trace.json"), shipped_gpu("h200_sxm"),
                        "trace.json");
}

}  // namespace

TEST_CASE("A traced product is a row with the mean time of its calls", "[unit]") {
  const char* dims = "[[64, 16], [16, 32]]";
  const std::vector<MeasuredKernel> kernels = kernels_of(
      trace_text(host_operator("aten::mm", 0, 10, dims), launch(1, 1),
                 kernel("nvjet_tst", 1, 20, 6), host_operator("aten::mm", 10, 10, dims),
                 launch(2, 11), kernel("nvjet_tst", 2, 30, 8), kernel("triton_a", 0, 50, 9)));
  REQUIRE(kernels.size() == 1);
  const auto& product = std::get<Gemm>(kernels[0].work.op.work);
  CHECK(product.m == 64);
  CHECK(product.n == 32);
  CHECK(product.k == 16);
  CHECK(product.dtype == Dtype::kBf16);
  CHECK(kernels[0].work.state.power == PowerState::kMixed);
  CHECK(kernels[0].group == "h200_sxm trace gemm");
  REQUIRE(kernels[0].quantities.size() == 1);
  CHECK(kernels[0].quantities[0].value == Approx(7e-6));
}

TEST_CASE("A traced collective counts without its waiting", "[unit]") {
  // 10, 10, 10 and 30 us: 20 us of waiting.
  const std::vector<MeasuredKernel> kernels =
      kernels_of(trace_text(collective("_allgather_base", 0, 10, 50, 100),
                            collective("_allgather_base", 100, 10, 50, 100),
                            collective("_allgather_base", 200, 10, 50, 100),
                            collective("_allgather_base", 300, 30, 50, 100)));
  REQUIRE(kernels.size() == 1);
  const auto& gather = std::get<Collective>(kernels[0].work.op.work);
  CHECK(gather.op == CollectiveOp::kAllGather);
  CHECK(gather.bytes == Bytes(200));
  CHECK(gather.group.size == 2);
  CHECK(kernels[0].quantities[0].value == Approx(10e-6));
}

TEST_CASE("A product whose operands are scaled is one of 8 bits", "[unit]") {
  const std::vector<MeasuredKernel> kernels = kernels_of(
      trace_text(host_operator("aten::_scaled_mm", 0, 10, "[[64, 16], [16, 32], [], []]"),
                 launch(1, 1), kernel("nvjet_tst", 1, 20, 6)));
  REQUIRE(kernels.size() == 1);
  CHECK(std::get<Gemm>(kernels[0].work.op.work).dtype == Dtype::kFp8);
}

}  // namespace stepcast::traced_kernels_test
