// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/work_shape.hpp"

#include "catch.hpp"

namespace stepcast::work_shape_test {

namespace {

constexpr StepCategory kGemm = StepCategory::kGemm;
constexpr StepCategory kGrouped = StepCategory::kGroupedGemm;
constexpr StepCategory kForward = StepCategory::kAttentionForward;
constexpr StepCategory kBackward = StepCategory::kAttentionBackward;

std::string traced(StepCategory category, const char* op, const char* dims) {
  const std::optional<WorkShape> shape = work_shape(category, op, dims);
  return shape ? shape_text(*shape) : "none";
}

}  // namespace

TEST_CASE("A traced product has the shape of ours, transposed or not", "[unit]") {
  const Op forward{.work = Gemm{.m = 8192, .n = 1024, .k = 4096}};
  CHECK(work_shape(forward) == work_shape(kGemm, "aten::mm", "[[8192,4096],[4096,1024]]"));
  CHECK(work_shape(forward) == work_shape(kGemm, "aten::mm", "[[1024,4096],[4096,8192]]"));
  CHECK(work_shape(forward) ==
        work_shape(kGemm, "aten::addmm", "[[1024],[8192,4096],[4096,1024],[],[]]"));
  CHECK(work_shape(forward) == work_shape(kGemm, "aten::linear", "[[2,4096,4096],[1024,4096]]"));
  CHECK(work_shape(forward) != work_shape(kGemm, "aten::mm", "[[8192,1024],[1024,4096]]"));
  CHECK(traced(kGemm, "aten::mm", "[[8192,4096],[4096,1024]]") == "8192 x 1024 x 4096");
  CHECK(traced(kGemm, "aten::bmm", "[[3,8,4],[3,4,2]]") == "3 of 8 x 2 x 4");
}

TEST_CASE("What is no shape of a product is none", "[unit]") {
  CHECK(traced(kGemm, "aten::mm", "[[8192,4096],[2048,1024]]") == "none");
  CHECK(traced(kGemm, "aten::mm", "[[8192,4096]]") == "none");
  CHECK(traced(kGemm, "aten::mm", "[[0,4096],[4096,8]]") == "none");
  CHECK(traced(kGemm, "aten::mm", "[[8192,4096],[4096,10") == "none");
  CHECK(traced(kGemm, "aten::add", "[[8192,4096],[4096,1024]]") == "none");
  // A copy that an operator of attention makes is no attention.
  CHECK(traced(StepCategory::kCopies, "aten::_flash_attention_forward",
               "[[1,2,3,4],[1,2,3,4],[1,2,3,4]]") == "none");
}

TEST_CASE("Grouped products are told by their rows, with weights' gradients apart", "[unit]") {
  const Op forward{.work = GroupedGemm{.groups = 32, .m_total = 49152, .n = 1408, .k = 2048}};
  const Op weights{
      .work = GroupedGemm{
          .groups = 32, .m_total = 49152, .n = 1408, .k = 2048, .pass = GemmPass::kWgrad}};
  CHECK(work_shape(forward) ==
        work_shape(kGrouped, "aten::_grouped_mm", "[[49152,2048],[32,2048,1408],[32],[],[]]"));
  CHECK(work_shape(weights) ==
        work_shape(kGrouped, "aten::_grouped_mm", "[[1408,49152],[49152,2048],[32],[],[]]"));
  CHECK(traced(kGrouped, "aten::_grouped_mm", "[[1408,49152],[49152,2048],[32]]") ==
        "49152 x 2048 x 1408 in 32 wgrad");
}

TEST_CASE("Attention is told by its queries, heads before or after tokens", "[unit]") {
  const Op op{.work = Attention{.batch = 1,
                                .seq_q = 8192,
                                .seq_kv = 8192,
                                .heads = 32,
                                .kv_heads = 8,
                                .d_qk = 128,
                                .d_v = 128}};
  CHECK(work_shape(op) == work_shape(kForward, "aten::_cudnn_attention_forward",
                                     "[[1,32,8192,128],[1,8,8192,128],[1,8,8192,128]]"));
  CHECK(work_shape(op) == work_shape(kForward, "aten::_flash_attention_forward",
                                     "[[1,8192,32,128],[1,8192,8,128],[1,8192,8,128]]"));
  CHECK(traced(kBackward, "aten::_scaled_dot_product_cudnn_attention_backward",
               "[[2,16,4096,128],[2,16,4096,192],[2,16,4096,192],[2,16,4096,128]]") ==
        "bwd 2 x 4096 x 16 x 192/128");
}

TEST_CASE("FlexAttention is told by what its generated kernel takes", "[unit]") {
  const Op op{.work = Attention{.batch = 2,
                                .seq_q = 4096,
                                .seq_kv = 4096,
                                .heads = 16,
                                .kv_heads = 16,
                                .d_qk = 192,
                                .d_v = 128}};
  CHECK(work_shape(op) ==
        work_shape(kForward, "triton_tem_fused_flex_attention_0",
                   "[[2,16,4096,192],[2,16,4096,192],[2,16,4096,128],[2,16,4096],[2,16,4096],"
                   "[2,1,32],[2,1,32,32],[2,4096],[2,16,4096,128],[]]"));
  // Tokens before heads, and the values inside the product that made them.
  CHECK(work_shape(op) ==
        work_shape(kForward, "triton_tem_fused_cat_flex_attention_view_6",
                   "[[2,4096,16,192],[2,4096,16,192],[8192,4096],[2,16,4096],[2,16,4096],"
                   "[2,1,32],[2,1,32,32],[2,4096],[2,16,4096,128],[]]"));
  CHECK(traced(kBackward, "triton_tem_fused_flex_attention_backward_1",
               "[[2,16,4096,192],[2,16,4096,192],[8192,4096],[2,16,4096],[2,16,4096],[8192,2048],"
               "[2,16,4096,192],[2,16,4096,128],[2,1,32]]") == "bwd 2 x 4096 x 16 x 192/128");
  CHECK(traced(kBackward, "triton_red_fused_flex_attention_backward_0",
               "[[2,16,4096,128],[2,16,4096,128],[2,16,4096],[],[]]") == "none");
}

TEST_CASE("A collective is the full tensor among its ranks", "[unit]") {
  const StepCategory gather = StepCategory::kAllGather;
  const std::optional<WorkShape> shape =
      work_shape(gather, CollectiveSizes{1048576, 2097152, 2, "BFloat16"});
  REQUIRE(shape);
  CHECK(bytes_of(*shape) == 4194304);
  CHECK(ranks_of(*shape) == 2);
  CHECK(shape_text(*shape) == "4.000 MiB / 2");
  const Op ours{.work = Collective{.op = CollectiveOp::kAllGather,
                                   .bytes = Bytes(4194304),
                                   .group = {.size = 2, .stride = 1}}};
  CHECK(work_shape(ours) == shape);
  const auto reduced =
      work_shape(StepCategory::kReduceScatter, CollectiveSizes{1000, 500, 2, "Float"});
  CHECK(bytes_of(reduced.value()) == 4000);
  CHECK_FALSE(work_shape(gather, CollectiveSizes{0, 0, 2, "Float"}));
}

TEST_CASE("An exchange of tokens hands over each token for each of its experts", "[unit]") {
  // 4,096 tokens to 2 experts each, rows of 8 values in 16 bits: 128 KiB.
  const Op op{.work = ExpertExchange{
                  .tokens = 4096, .hidden = 8, .experts = 4, .topk = 2, .group = {.size = 4}}};
  CHECK(shape_text(work_shape(op).value()) == "128.0 KiB / 4");
}

TEST_CASE("What memory bounds has no shape", "[unit]") {
  CHECK_FALSE(work_shape(Op{.work = MemoryBound{MemoryBoundKind::kCopy, 8, 8}}));
}

}  // namespace stepcast::work_shape_test
