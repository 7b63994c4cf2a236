// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/operator_event.hpp"

#include "catch.hpp"
#include "trace_reader/step_categories.hpp"

namespace stepcast::operator_event_test {
namespace {

using Sizes = std::vector<std::int64_t>;

TraceOperator written(const OpWork& work, TaskRole role = TaskRole::kForward,
                      OpId id = OpId::kStandalone, const TraceNaming& naming = {}) {
  return trace_operator({id, work}, role, naming);
}

ExpertExchange small_exchange() {
  ExpertExchange exchange;
  exchange.dispatcher = Dispatcher::kDeepEp;
  exchange.tokens = 100;
  exchange.hidden = 64;
  exchange.experts = 8;
  exchange.topk = 2;
  exchange.group = {8, 1};
  return exchange;
}

TraceNaming on_hip() {
  TraceNaming naming;
  naming.runtime = DeviceRuntime::kHip;
  naming.architecture = "gfx";
  return naming;
}

}  // namespace

TEST_CASE("a product is written with the operands that its pass reads", "[unit]") {
  // 3 tokens, 5 outputs, 7 inputs; weights lie as [outputs, inputs].
  const TraceOperator forward = written(Gemm{3, 5, 7});
  CHECK(forward.name == "aten::mm");
  CHECK(forward.arguments[0].sizes == Sizes{3, 7});
  CHECK(forward.arguments[0].strides == Sizes{7, 1});
  CHECK(forward.arguments[1].sizes == Sizes{7, 5});
  CHECK(forward.arguments[1].strides == Sizes{1, 7});
  CHECK(forward.arguments[1].type == "c10::BFloat16");
  CHECK(forward.kernel.ends_with("_TNT"));
  // dx [3, 7] = dy [3, 5] W [5, 7]
  const TraceOperator input = written(Gemm{3, 7, 5, 1, Dtype::kBf16, GemmPass::kDgrad});
  CHECK(input.arguments[1].sizes == Sizes{5, 7});
  CHECK(input.arguments[1].strides == Sizes{7, 1});
  CHECK(input.kernel.ends_with("_NNT"));
  // dW [5, 7] = dy^T [5, 3] x [3, 7], dy as it lies [3, 5]
  const TraceOperator weight = written(Gemm{5, 7, 3, 1, Dtype::kBf16, GemmPass::kWgrad});
  CHECK(weight.arguments[0].sizes == Sizes{5, 3});
  CHECK(weight.arguments[0].strides == Sizes{1, 5});
  CHECK(weight.arguments[1].sizes == Sizes{3, 7});
  CHECK(weight.kernel.ends_with("_NTT"));
}

TEST_CASE("products below 16 bits are those of the library that runs them", "[unit]") {
  CHECK(written(Gemm{32, 64, 128, 1, Dtype::kFp8}).name == "aten::_scaled_mm");
  const TraceOperator fp8 =
      written(Gemm{32, 64, 128, 1, Dtype::kFp8}, TaskRole::kForward, OpId::kStandalone, on_hip());
  CHECK(fp8.name == "primus_turbo::hipblaslt_gemm_fp8");
  CHECK(fp8.arguments[2].sizes == Sizes{64, 128});
  CHECK(fp8.arguments[6].value == "True");  // the second operand is transposed
  CHECK(fp8.kernel.starts_with("Cijk_Alik_Bljk_"));
  const TraceOperator fp4 = written(Gemm{32, 64, 128, 1, Dtype::kFp4});
  CHECK(fp4.name == "primus_turbo::hipblaslt_gemm_fp4");
  CHECK(fp4.arguments[0].sizes == Sizes{32, 64});  // two values a byte
  CHECK(fp4.arguments[3].sizes == Sizes{64, 4});   // a scale for 32 of 128 values
}

TEST_CASE("a batch of products and groups of them have a size more", "[unit]") {
  const TraceOperator batch = written(Gemm{3, 5, 7, 2});
  CHECK(batch.name == "aten::bmm");
  CHECK(batch.arguments[1].sizes == Sizes{2, 7, 5});
  CHECK(batch.arguments[1].strides == Sizes{35, 1, 7});
  GroupedGemm grouped{4, 100, 5, 7};
  CHECK(written(grouped).arguments[0].sizes == Sizes{100, 7});
  CHECK(written(grouped).arguments[1].sizes == Sizes{4, 5, 7});
  grouped.pass = GemmPass::kWgrad;
  CHECK(written(grouped).name == "primus_turbo::grouped_gemm_variable_k");
  CHECK(written(grouped).arguments[1].sizes == Sizes{100, 7});
}

TEST_CASE("attention is written with its heads where its library has them", "[unit]") {
  Attention attention{2, 128, 256, 8, 4, 64, 32};
  attention.kernel = AttentionKernel::kFlash2;
  const TraceOperator flash = written(attention);
  CHECK(flash.name == "aten::_scaled_dot_product_flash_attention");
  CHECK(flash.arguments[0].sizes == Sizes{2, 8, 128, 64});
  CHECK(flash.arguments[1].sizes == Sizes{2, 4, 256, 64});
  CHECK(flash.arguments[2].sizes == Sizes{2, 4, 256, 32});
  CHECK(flash.arguments[4].value == "True");
  attention.kernel = AttentionKernel::kAiter;
  CHECK(written(attention).arguments[0].sizes == Sizes{2, 128, 8, 64});
  attention.direction = Direction::kBackward;
  const TraceOperator backward = written(attention);
  CHECK(backward.name == "flash_attn::_flash_attn_backward");
  CHECK(backward.arguments[0].sizes == Sizes{2, 128, 8, 32});  // gradient of the output
  CHECK(backward.arguments[1].sizes == Sizes{2, 128, 8, 64});
  CHECK(backward.arguments[10].value == "True");
}

TEST_CASE("a collective counts what goes in and comes out of a rank", "[unit]") {
  // 8,000 bytes are 4,000 values of bf16 over 4 ranks.
  const auto of = [](CollectiveOp op) {
    return *written(Collective{op, Bytes(8000), {4, 1}}).collective;
  };
  CHECK(of(CollectiveOp::kAllGather).in_elements == 1000);
  CHECK(of(CollectiveOp::kAllGather).out_elements == 4000);
  CHECK(of(CollectiveOp::kReduceScatter).in_elements == 4000);
  CHECK(of(CollectiveOp::kReduceScatter).out_elements == 1000);
  CHECK(of(CollectiveOp::kAllReduce).out_elements == 4000);
  CHECK(of(CollectiveOp::kAllToAll).in_split == Sizes{1000, 1000, 1000, 1000});
  const TraceOperator gradients =
      written(Collective{CollectiveOp::kReduceScatter, Bytes(8000), {4, 1}}, TaskRole::kReduce,
              OpId::kDpReduce);
  CHECK(gradients.collective->element == "Float");
  CHECK(gradients.collective->in_elements == 2000);
}

TEST_CASE("an exchange of tokens is a dispatch or a combine, there and back", "[unit]") {
  const ExpertExchange exchange = small_exchange();
  const TraceOperator dispatch = written(exchange, TaskRole::kForward, OpId::kMoeDispatch);
  CHECK(dispatch.name == "MoEDispatch");
  CHECK(dispatch.arguments[0].sizes == Sizes{100, 64});
  CHECK(dispatch.kernel == "ncclDevKernel_SendRecv(deepep::dispatch)");
  // Back of the combine its gradient takes the same way.
  CHECK(written(exchange, TaskRole::kBackward, OpId::kMoeCombine).name == "MoECombineBackward");
  CHECK(written(exchange, TaskRole::kRecompute, OpId::kMoeDispatch).name == "MoEDispatch");
}

// Readers of traces see the kernel's name alone, and what a collective is called.
TEST_CASE("a kernel is called so that it falls in the category of its operator", "[unit]") {
  std::vector<OpWork> works = {Gemm{3, 5, 7}, GroupedGemm{4, 100, 5, 7}, small_exchange()};
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    for (std::size_t i = 0; i < kMemoryBoundKinds; ++i) {
      for (const Implementation implementation :
           {Implementation::kEager, Implementation::kCompiled, Implementation::kFused}) {
        MemoryBound work{static_cast<MemoryBoundKind>(i), 8, 8};
        work.direction = direction;
        work.implementation = implementation;
        works.emplace_back(work);
      }
    }
    for (std::size_t i = 0; i < kNamesOf<AttentionKernel>.size(); ++i) {
      Attention work{1, 8, 8, 2, 2, 64, 64};
      work.direction = direction;
      work.kernel = static_cast<AttentionKernel>(i);
      works.emplace_back(work);
    }
  }
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter,
        CollectiveOp::kAllToAll, CollectiveOp::kSendRecv, CollectiveOp::kBroadcast}) {
    works.emplace_back(Collective{op, Bytes(8000), {4, 1}});
  }
  for (const TraceNaming& naming : {TraceNaming{}, on_hip()}) {
    for (const OpWork& work : works) {
      const TraceOperator event = written(work, TaskRole::kForward, OpId::kStandalone, naming);
      CAPTURE(event.kernel);
      const std::string collective = event.collective ? event.collective->name : "";
      CHECK(category_of_kernel(event.kernel, collective) == category_of({OpId::kStandalone, work}));
    }
  }
}

}  // namespace stepcast::operator_event_test
