// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/layer_expansion.hpp"

namespace stepcast::loss_chunks_test {
namespace {

using test::Sample;

BlockOps loss_of(std::int64_t chunks) {
  Sample sample = test::dense_sample();
  sample.software.memory.loss_chunks = chunks;
  sample.software.accumulates_in_gemm = false;
  return expand_loss(sample.context());
}

std::vector<std::int64_t> rows_of_products(const OpList& ops) {
  std::vector<std::int64_t> rows;
  for (const Op& op : ops) {
    const auto* product = std::get_if<Gemm>(&op.work);
    if (product != nullptr && product->pass == GemmPass::kForward) {
      rows.push_back(product->m);
    }
  }
  return rows;
}

double work_of(const OpList& ops) {
  double sum = 0.0;
  for (const Op& op : ops) {
    sum += flops(op).value();
  }
  return sum;
}

std::size_t sums(const OpList& ops) {
  return static_cast<std::size_t>(std::count_if(
      ops.begin(), ops.end(), [](const Op& op) { return op.id == OpId::kGradientAccumulate; }));
}

TEST_CASE("A loss in chunks runs as many FLOPs in products of fewer rows", "[case]") {
  CHECK(rows_of_products(loss_of(1).forward) == std::vector<std::int64_t>{1024});
  CHECK(rows_of_products(loss_of(4).forward) == std::vector<std::int64_t>(4, 256));
  CHECK(rows_of_products(loss_of(3).forward) == std::vector<std::int64_t>{342, 342, 340});
  CHECK(work_of(loss_of(4).forward) == work_of(loss_of(1).forward));
  CHECK(work_of(loss_of(4).backward) == work_of(loss_of(1).backward));
}

TEST_CASE("The gradients of all chunks but the first are added up", "[unit]") {
  CHECK(sums(loss_of(1).backward) == 0);
  CHECK(sums(loss_of(4).backward) == 3);
}

TEST_CASE("the output matrix multiplies in 8 bits where the software does so", "[unit]") {
  test::Sample sample = test::dense_sample();
  const auto formats = [&] {
    const BlockOps ops = expand_loss(sample.context());
    std::vector<Dtype> dtypes;
    for (const OpList* list : {&ops.forward, &ops.backward}) {
      for (const Op& op : *list) {
        if (const auto* product = std::get_if<Gemm>(&op.work); product != nullptr) {
          dtypes.push_back(product->dtype);
        }
      }
    }
    return dtypes;
  };
  sample.training.dtype = Dtype::kFp8;
  CHECK(formats() == std::vector<Dtype>(3, Dtype::kBf16));
  sample.software.head_8bit = true;
  CHECK(formats() == std::vector<Dtype>(3, Dtype::kFp8));
  // Neither in 4 bits nor in 16.
  for (const Dtype dtype : {Dtype::kFp4, Dtype::kBf16}) {
    sample.training.dtype = dtype;
    CHECK(formats() == std::vector<Dtype>(3, Dtype::kBf16));
  }
}

}  // namespace
}  // namespace stepcast::loss_chunks_test
