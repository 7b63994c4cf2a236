// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/operator_categories.hpp"

#include "catch.hpp"
#include "trace_text.hpp"

namespace stepcast::operator_categories_test {
using namespace stepcast::test;

namespace {

// Events of operators one after the other, each with a kernel; and what the kernels are for.
class Recorded {
 public:
  Recorded& op(const std::string& name, const std::string& dims, const std::string& kernel_name) {
    const double start = 100.0 * number_;
    ++number_;
    add(host_operator(name, start, 50, dims));
    add(launch(number_, start + 10));
    add(kernel(kernel_name, number_, start + 20, 5));
    return *this;
  }
  // Around the operator that comes next.
  Recorded& within(const std::string& name, const std::string& dims) {
    add(host_operator(name, 100.0 * number_ - 1, 60, dims));
    return *this;
  }
  Recorded& hook(const std::string& name) {
    add(span_event("user_annotation", name, 1, 100.0 * number_ - 1, 60));
    return *this;
  }
  [[nodiscard]] std::vector<StepCategory> categories() const {
    std::vector<StepCategory> found;
    for (const DeviceCall& call : recording_of(trace_text(events_)).calls) {
      found.push_back(call.category);
    }
    return found;
  }

 private:
  void add(const std::string& event) { events_ += (events_.empty() ? "" : ",\n") + event; }

  std::string events_;
  int number_ = 0;
};

using Category = StepCategory;
using Categories = std::vector<Category>;

// 16 tokens with 2 choices of 4 experts: 32 rows of 64 values, each expert's padded to 8 rows more.
Recorded experts() {
  Recorded recorded;
  recorded.op("aten::_grouped_mm", "[[64, 64], [4, 64, 24], [4]]", "grouped_gemm");
  recorded.op("aten::mm", "[[16, 64], [64, 8]]", "nvjet_tst");
  recorded.op("aten::bmm", "[[16, 1, 2], [16, 2, 64]]", "void gemv2N_kernel<int>");
  recorded.op("aten::index", "[[16, 64], []]", "vectorized_gather_kernel<16>");
  return recorded;
}

}  // namespace

TEST_CASE("Every kernel that a hook of FSDP launches counts as its copies", "[unit]") {
  const Categories found = Recorded()
                               .hook("FSDP::pre_forward (layers.0)")
                               .op("aten::copy_", "[[64], [64]]", "Memcpy DtoD")
                               .hook("FSDP::post_backward_reduce (layers.0)")
                               .op("aten::div", "[[64], []]", "vectorized_elementwise_kernel")
                               .op("aten::copy_", "[[64], [64]]", "Memcpy DtoD")
                               .categories();
  CHECK(found == Categories{Category::kFsdpCopies, Category::kFsdpCopies, Category::kMemoryBound});
}

TEST_CASE("A batch of products with vectors is bound by memory, one of matrices is a product",
          "[unit]") {
  const Categories found =
      Recorded()
          .op("aten::bmm", "[[16, 1, 6], [16, 6, 64]]", "void gemv2N_kernel<int>")
          .op("aten::bmm", "[[16, 6, 1], [16, 1, 64]]", "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n")
          .op("aten::bmm", "[[16, 6, 4], [16, 4, 64]]", "nvjet_tst")
          .categories();
  CHECK(found == Categories{Category::kMemoryBound, Category::kMemoryBound, Category::kGemm});
}

TEST_CASE("Products that one of groups falls back to are grouped", "[unit]") {
  const Categories found = Recorded()
                               .within("aten::_grouped_mm", "[[64, 16], [4, 16, 8], [4]]")
                               .op("aten::mm", "[[9, 16], [16, 8]]", "sm80_xmma_gemm_f32")
                               .op("aten::mm", "[[9, 16], [16, 8]]", "sm80_xmma_gemm_f32")
                               .categories();
  CHECK(found == Categories{Category::kGroupedGemm, Category::kGemm});
}

TEST_CASE("Operators on rows of experts are told by the rows of grouped products", "[unit]") {
  Recorded recorded = experts();
  const Categories found =
      recorded.op("aten::_index_put_impl_", "[[33, 64], [], [64, 64]]", "index_elementwise_kernel")
          .op("aten::copy_", "[[16, 2, 64], [16, 2, 64]]", "direct_copy_kernel")
          .op("aten::copy_", "[[16, 1, 64], [16, 1, 64]]", "direct_copy_kernel")
          .op("aten::fill_", "[[33, 64], []]", "FillFunctor")
          .op("aten::cat", "[[[32, 64], [1, 64]], []]", "CatArrayBatchedCopy")
          .op("aten::sort", "[[32], []]", "DeviceRadixSort sort")
          .op("triton_poi_fused_add_1", "[[64, 64], [64, 64], []]", "triton_poi_fused_add_1")
          .categories();
  CHECK(found[0] == Category::kGroupedGemm);
  CHECK(found[1] == Category::kGemm);
  for (std::size_t i = 2; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == Category::kExpertRows);
  }
}

TEST_CASE("Tokens, and what is as wide as an expert inside, are no rows of experts", "[unit]") {
  Recorded recorded = experts();
  const Categories found =
      recorded.op("aten::add", "[[16, 64], [16, 64]]", "vectorized_elementwise_kernel")
          .op("aten::silu", "[[64, 24]]", "vectorized_elementwise_kernel")
          .op("aten::copy_", "[[64, 65], [64, 65]]", "direct_copy_kernel")
          .within("BmmBackward0", "[[32, 64]]")
          .op("aten::add", "[[16, 64], [16, 64]]", "vectorized_elementwise_kernel")
          .categories();
  CHECK(Categories(found.begin() + 4, found.end()) == Categories(4, Category::kMemoryBound));
}

TEST_CASE("What NCCL sends and receives is an exchange where an exchange was asked for", "[unit]") {
  const Categories found = Recorded()
                               .within("c10d::alltoall_base_", "[[64], [64]]")
                               .op("record_param_comms", "[[64]]", "ncclDevKernel_SendRecv(args)")
                               .op("c10d::send", "[[64]]", "ncclDevKernel_SendRecv(args)")
                               .categories();
  CHECK(found == Categories{Category::kAllToAll, Category::kSendRecv});
}

}  // namespace stepcast::operator_categories_test
