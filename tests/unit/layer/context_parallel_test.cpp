// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/context_parallel.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::context_parallel_test {
namespace {

using test::nearly;
using test::Sample;

// 16 query and 4 key/value heads of 64, two sequences of 512: over 4 ranks 256 tokens each, whose
// keys and values are 256 x 4 x (64 + 64) values.
constexpr double kKeysAndValues = 256.0 * 4.0 * 128.0;

Sample divided(CpAlgorithm algorithm, std::int64_t cp = 4) {
  Sample sample = test::dense_sample();
  sample.plan.cp = cp;
  sample.plan.cp_algorithm = algorithm;
  return sample;
}

Sample hierarchical() {
  Sample sample = divided(CpAlgorithm::kAllToAllRing);
  sample.plan.cp_all_to_all = 2;
  return sample;
}

template <typename Work>
std::vector<Work> works_of(const OpList& ops, OpId id) {
  std::vector<Work> works;
  for (const Op& op : ops) {
    if (const Work* work = std::get_if<Work>(&op.work); work != nullptr && op.id == id) {
      works.push_back(*work);
    }
  }
  return works;
}

std::vector<Collective> sent(const OpList& ops) {
  return works_of<Collective>(ops, OpId::kAttentionCp);
}

std::vector<double> sizes(const std::vector<Collective>& collectives, CollectiveOp op) {
  std::vector<double> bytes;
  for (const Collective& collective : collectives) {
    if (collective.op == op) {
      bytes.push_back(collective.bytes.value());
    }
  }
  return bytes;
}

double flops_of(const OpList& ops) {
  double sum = 0.0;
  for (const Op& op : ops) {
    sum += flops(op).value();
  }
  return sum;
}

TEST_CASE("context-parallel ranks share the FLOPs of one, forward and backward", "[property]") {
  const BlockOps whole = expand_layer(test::dense_sample().context(), {});
  for (const Implementation passes : {Implementation::kFused, Implementation::kCompiled}) {
    for (Sample sample :
         {divided(CpAlgorithm::kRing), divided(CpAlgorithm::kRing, 2),
          divided(CpAlgorithm::kAllGather), divided(CpAlgorithm::kAllToAll), hierarchical()}) {
      sample.software.ring_attention = passes;
      const BlockOps own = expand_layer(sample.context(), {});
      CAPTURE(name(sample.plan.cp_algorithm), sample.plan.cp);
      const auto ranks = static_cast<double>(sample.plan.cp);
      CHECK(ranks * flops_of(own.forward) == nearly(flops_of(whole.forward)));
      CHECK(ranks * flops_of(own.backward) == nearly(flops_of(whole.backward)));
    }
  }
}

TEST_CASE("a ring's first step is causal, the others are halves without a mask", "[unit]") {
  const BlockOps ops = expand_layer(divided(CpAlgorithm::kRing).context(), {});
  const auto steps = works_of<Attention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].causal);
  CHECK(steps[0].seq_q == 128);
  CHECK(steps[0].seq_kv == 128);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK_FALSE(steps[i].causal);
    CHECK(steps[i].seq_q == 128);
    CHECK(steps[i].seq_kv == 64);
  }
  const auto back = works_of<Attention>(ops.backward, OpId::kAttentionCore);
  REQUIRE(back.size() == 4);
  CHECK(back[3].causal);
  // Four partial results of 256 x 16 x 64: one copied, three added; log-sum-exps of 256 x 16.
  const auto merges = works_of<MemoryBound>(ops.forward, OpId::kAttentionMerge);
  REQUIRE(merges.size() == 7);
  CHECK(merges[0].cols == 16);
  CHECK(merges[0].element == Bytes(4));
  CHECK(merges[3].kind == MemoryBoundKind::kCopy);
  CHECK(merges[6].kind == MemoryBoundKind::kAddPartial);
  CHECK(merges[6].rows == 256);
  CHECK(merges[6].cols == 1024);
}

TEST_CASE("a ring sends keys and values forward, their gradients one step later backward",
          "[unit]") {
  const BlockOps ops = expand_layer(divided(CpAlgorithm::kRing).context(), {});
  const double kv = 2.0 * kKeysAndValues;
  CHECK(sizes(sent(ops.forward), CollectiveOp::kSendRecv) == std::vector<double>{kv, kv, kv});
  CHECK(sizes(sent(ops.backward), CollectiveOp::kSendRecv) ==
        std::vector<double>{kv, 2.0 * kv, 2.0 * kv, kv});
  CHECK(sent(ops.forward).front().group == ProcessGroup{4, 1});
}

TEST_CASE("a ring of 8-bit attention sends a byte a value and exchanges gradients at the end",
          "[unit]") {
  Sample sample = divided(CpAlgorithm::kRing);
  sample.software.attention_8bit = true;
  sample.training.dtype = Dtype::kFp8;
  const BlockOps ops = expand_layer(sample.context(), {});
  const double kv = kKeysAndValues;
  CHECK(sizes(sent(ops.forward), CollectiveOp::kSendRecv) == std::vector<double>{kv, kv, kv});
  CHECK(sizes(sent(ops.backward), CollectiveOp::kSendRecv) == std::vector<double>{kv, kv, kv});
  CHECK(sizes(sent(ops.backward), CollectiveOp::kAllToAll) == std::vector<double>{4.0 * kv});
  // Scales of blocks are found after the values have arrived.
  sample.training.dtype = Dtype::kFp4;
  CHECK(sizes(sent(expand_layer(sample.context(), {}).forward), CollectiveOp::kSendRecv) ==
        std::vector<double>{2.0 * kv, 2.0 * kv, 2.0 * kv});
}

TEST_CASE("gathered keys and values are gathered again and their gradients scattered", "[unit]") {
  const BlockOps ops = expand_layer(divided(CpAlgorithm::kAllGather).context(), {});
  const double half = 4.0 * kKeysAndValues;  // keys of 4 ranks, 2 bytes a value
  const std::vector<double> both = {half, half};
  CHECK(sizes(sent(ops.forward), CollectiveOp::kAllGather) == both);
  CHECK(sizes(sent(ops.backward), CollectiveOp::kAllGather) == both);
  CHECK(sizes(sent(ops.backward), CollectiveOp::kReduceScatter) == both);
  CHECK(sent(ops.backward).front().op == CollectiveOp::kAllGather);
  const auto calls = works_of<Attention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].seq_q == 128);
  CHECK(calls[0].seq_kv == 512);
}

TEST_CASE("an exchange of heads leaves whole sequences of a share of them", "[unit]") {
  const BlockOps ops = expand_layer(divided(CpAlgorithm::kAllToAll).context(), {});
  const auto calls = works_of<Attention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].seq_q == 512);
  CHECK(calls[0].heads == 4);
  CHECK(calls[0].kv_heads == 1);
  // q, k, v and the result: 256 tokens of 16, 4, 4 and 16 heads of 64, 2 bytes a value.
  const double head = 256.0 * 64.0 * 2.0;
  CHECK(sizes(sent(ops.forward), CollectiveOp::kAllToAll) ==
        std::vector<double>{16.0 * head, 4.0 * head, 4.0 * head, 16.0 * head});
  CHECK(sizes(sent(ops.backward), CollectiveOp::kAllToAll) ==
        std::vector<double>{16.0 * head, 4.0 * head, 4.0 * head, 16.0 * head});
}

// Two neighbours exchange heads: 512 tokens of half of them each; then two groups make a ring.
TEST_CASE("heads go between neighbours, keys and values between groups of them", "[unit]") {
  Sample sample = hierarchical();
  sample.plan.tp = 2;
  sample.plan.cp_all_to_all = 2;
  const BlockOps ops = expand_layer(sample.context(), {});
  const auto steps = works_of<Attention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].heads == 4);
  CHECK(steps[0].kv_heads == 1);
  CHECK(steps[0].seq_q == 256);
  CHECK(steps[1].seq_kv == 128);
  for (const Collective& collective : sent(ops.forward)) {
    CHECK(collective.group ==
          (collective.op == CollectiveOp::kAllToAll ? ProcessGroup{2, 2} : ProcessGroup{2, 4}));
  }
  // Two sequences of 256 tokens, one head of keys and one of values.
  CHECK(sizes(sent(ops.forward), CollectiveOp::kSendRecv) ==
        std::vector<double>{512.0 * 128.0 * 2.0});
}

TEST_CASE("PyTorch's ring passes keys on and sends their gradients in fp32", "[unit]") {
  Sample sample = divided(CpAlgorithm::kRing);
  sample.software.ring_attention = Implementation::kCompiled;
  const BlockOps ops = expand_layer(sample.context(), {});
  const double kv = 2.0 * kKeysAndValues;
  CHECK(sizes(sent(ops.forward), CollectiveOp::kSendRecv) == std::vector<double>{kv, kv, kv});
  CHECK(sizes(sent(ops.forward), CollectiveOp::kAllGather).empty());
  CHECK(sizes(sent(ops.backward), CollectiveOp::kSendRecv) ==
        std::vector<double>{kv, kv, kv, 2.0 * kv, 2.0 * kv, 2.0 * kv, 2.0 * kv});
  CHECK(works_of<MemoryBound>(ops.forward, OpId::kAttentionKvJoin).size() == 3);
}

TEST_CASE("a kernel that keeps documents apart shares what its mask leaves", "[unit]") {
  Sample sample = divided(CpAlgorithm::kRing);
  sample.software.attention = AttentionKernel::kFlex;
  sample.training.documents.length = 64;
  const BlockOps ops = expand_layer(sample.context(), {});
  const auto steps = works_of<Attention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(steps.size() == 4);
  Sample whole = sample;
  whole.plan.cp = 1;
  CHECK(4.0 * flops_of(ops.forward) == nearly(flops_of(expand_layer(whole.context(), {}).forward)));
}

Bytes buffers(const Sample& sample) {
  return context_parallel_buffers(sample.context(), attention_heads(sample.model).front());
}

// r K V and r results that are 4 times as wide, at r = 4; two of each by gradients at r = 2.
TEST_CASE("a ring holds what arrives and partial results", "[unit]") {
  const double kv = 2.0 * kKeysAndValues;
  const double result = 2.0 * 256.0 * 1024.0;
  CHECK(buffers(divided(CpAlgorithm::kRing)).value() == nearly(3.0 * kv + 4.0 * result));
  CHECK(buffers(divided(CpAlgorithm::kAllGather)).value() == nearly(2.0 * result + 12.0 * kv));
  CHECK(buffers(divided(CpAlgorithm::kAllToAll)) == Bytes{});
  CHECK(buffers(test::dense_sample()) == Bytes{});
}

TEST_CASE("repeated heads are what attention reads, keeps and sends", "[unit]") {
  Sample sample = divided(CpAlgorithm::kRing);
  sample.software.repeats_kv_heads = true;
  const BlockOps ops = expand_layer(sample.context(), {});
  CHECK(works_of<Attention>(ops.forward, OpId::kAttentionCore).front().kv_heads == 16);
  CHECK(sizes(sent(ops.forward), CollectiveOp::kSendRecv).front() ==
        nearly(4.0 * 2.0 * kKeysAndValues));
  const auto repeats = works_of<MemoryBound>(ops.forward, OpId::kAttentionRepeat);
  REQUIRE(repeats.size() == 1);
  CHECK(repeats[0].rows == 256);
  CHECK(repeats[0].cols == 16 * 128);
  CHECK(works_of<MemoryBound>(ops.backward, OpId::kAttentionRepeat).size() == 1);
  // 4 heads of keys are kept as the product made them, 12 more of both beside.
  const auto kept = [&](TensorId id) {
    return std::find_if(ops.saved.begin(), ops.saved.end(),
                        [id](const SavedTensor& tensor) { return tensor.id == id; });
  };
  CHECK(kept(TensorId::kAttentionK)->bytes.value() == nearly(256.0 * 4.0 * 64.0 * 2.0));
  CHECK(kept(TensorId::kAttentionRepeatedKv)->bytes.value() == nearly(256.0 * 12.0 * 128.0 * 2.0));
  CHECK(kept(TensorId::kAttentionRepeatedKv)->producer == OpId::kAttentionRepeat);
  // Nothing to repeat where every query head has its own.
  sample.model.attention.kv_heads = 16;
  CHECK(works_of<MemoryBound>(expand_layer(sample.context(), {}).forward, OpId::kAttentionRepeat)
            .empty());
}

}  // namespace
}  // namespace stepcast::context_parallel_test
