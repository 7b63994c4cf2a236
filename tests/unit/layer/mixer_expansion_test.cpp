// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/mixer_expansion.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"

namespace stepcast::mixer_expansion_test {
namespace {

using test::Sample;

// Tokens of a sample's micro-batch: 2 sequences of 512.
constexpr std::int64_t kTokens = 1024;

template <typename Work>
std::vector<Work> works_of(const OpList& ops, OpId id) {
  std::vector<Work> works;
  for (const Op& op : ops) {
    if (const Work* work = std::get_if<Work>(&op.work); work && op.id == id) {
      works.push_back(*work);
    }
  }
  return works;
}

// Layers of 16 and 8 query heads, of which the second has no feed-forward and the third no mixer.
Sample uneven_sample() {
  Sample sample = test::dense_sample();
  sample.model.attention.heads = LayerCounts({16, 8}, sample.model.layers);
  sample.model.attention.kv_heads = 4;
  sample.model.mlp.ffn_hidden = LayerCounts({512, 0, 1024}, sample.model.layers);
  sample.model.mixers.pattern = {Mixer::kAttention, Mixer::kAttention, Mixer::kNone};
  return sample;
}

BlockOps layer_of(const Sample& sample, std::int64_t index = 0) {
  return expand_layer(sample.context(), layer_kind(sample.model, index));
}

Bytes saved(const BlockOps& ops, TensorId id) {
  Bytes bytes;
  for (const SavedTensor& tensor : ops.saved) {
    bytes += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return bytes;
}

Sample convolution_sample() {
  Sample sample = test::dense_sample();
  sample.model.mixers = {{Mixer::kConvolution}, ConvolutionSpec{3, false}, std::nullopt};
  return sample;
}

// 4 query heads of 32 and 8 value heads of 64.
Sample linear_sample() {
  Sample sample = test::dense_sample();
  LinearAttentionSpec linear;
  linear.heads = 8;
  linear.qk_heads = 4;
  linear.qk_head_dim = 32;
  linear.v_head_dim = 64;
  linear.convolution_width = 4;
  sample.model.mixers = {{Mixer::kLinearAttention}, std::nullopt, linear};
  return sample;
}

// 16 heads of 64 + 32 with latents of 128, of which 128 positions are chosen.
Sample chosen_sample() {
  Sample sample = test::dense_sample();
  AttentionSpec& attention = sample.model.attention;
  attention.kind = AttentionKind::kMla;
  attention.kv_heads = attention.heads;
  attention.mla = {
      .q_lora_rank = 256, .kv_lora_rank = 128, .qk_nope_head_dim = 64, .qk_rope_head_dim = 32};
  attention.qk_head_dim = 96;
  attention.indexer = IndexerSpec{4, 16, 128, true};
  return sample;
}

Sample shared_kv_sample(std::int64_t ratio) {
  Sample sample = chosen_sample();
  AttentionSpec& attention = sample.model.attention;
  attention.kind = AttentionKind::kSharedKv;
  attention.kv_heads = 1;
  attention.qk_head_dim = attention.v_head_dim = 64;
  attention.output_groups = 4;
  attention.output_lora_rank = 32;
  attention.sliding_window = 16;
  attention.indexer->trained = false;
  attention.compression = {std::vector<std::int64_t>(8, ratio), 4};
  return sample;
}

TEST_CASE("a short convolution is two products and three kernels that memory bounds", "[case]") {
  const BlockOps ops = layer_of(convolution_sample());
  const auto in = works_of<Gemm>(ops.forward, OpId::kConvolutionIn);
  const auto out = works_of<Gemm>(ops.forward, OpId::kConvolutionOut);
  REQUIRE((in.size() == 1 && out.size() == 1));
  CHECK((in[0].m == kTokens && in[0].n == 3 * 1024 && in[0].k == 1024));
  CHECK((out[0].m == kTokens && out[0].n == 1024 && out[0].k == 1024));
  CHECK(works_of<Gemm>(ops.backward, OpId::kConvolutionIn).size() == 2);
  for (const OpId id :
       {OpId::kConvolutionGate, OpId::kConvolutionFilter, OpId::kConvolutionGateOut}) {
    const auto kernels = works_of<MemoryBound>(ops.forward, id);
    REQUIRE(kernels.size() == 1);
    CHECK((kernels[0].rows == kTokens && kernels[0].cols == 1024));
    CHECK(works_of<MemoryBound>(ops.backward, id).size() == 1);
  }
  // 3 H of the first product, and what the filter reads, makes and the last product reads.
  CHECK(saved(ops, TensorId::kConvolutionInput) == 2.0 * Bytes(kTokens * 3 * 1024));
  CHECK(saved(ops, TensorId::kConvolutionFiltered) == 2.0 * Bytes(kTokens * 1024));
  CHECK(works_of<Attention>(ops.forward, OpId::kAttentionCore).empty());
}

// Two rows of 1024 channels of both parts of both sequences, in 16 bits.
TEST_CASE("context parallelism passes the rows that a convolution reaches back to", "[case]") {
  Sample sample = convolution_sample();
  sample.plan.cp = 2;
  const BlockOps ops = layer_of(sample);
  const auto halo = works_of<Collective>(ops.forward, OpId::kConvolutionHalo);
  REQUIRE(halo.size() == 1);
  CHECK(halo[0].op == CollectiveOp::kSendRecv);
  CHECK(halo[0].axis == Axis::kContext);
  CHECK(halo[0].bytes == Bytes(2 * 2 * 2 * 1024 * 2));
  CHECK(works_of<Collective>(ops.backward, OpId::kConvolutionHalo).size() == 1);
}

TEST_CASE("a gated delta rule makes all that it reads of one product", "[case]") {
  const BlockOps ops = layer_of(linear_sample());
  const auto in = works_of<Gemm>(ops.forward, OpId::kLinearIn);
  REQUIRE(in.size() == 1);
  CHECK(in[0].n == 2 * 4 * 32 + 2 * 8 * 64 + 2 * 8);
  const auto core = works_of<LinearAttention>(ops.forward, OpId::kLinearCore);
  REQUIRE(core.size() == 1);
  CHECK((core[0].batch == 2 && core[0].seq == 512 && core[0].heads == 8 && core[0].qk_heads == 4));
  CHECK((core[0].d_k == 32 && core[0].d_v == 64 && core[0].chunk == 64));
  CHECK(works_of<LinearAttention>(ops.backward, OpId::kLinearCore)[0].direction ==
        Direction::kBackward);
  CHECK(works_of<MemoryBound>(ops.forward, OpId::kLinearFilter)[0].cols == 2 * 4 * 32 + 8 * 64);
  CHECK(works_of<Gemm>(ops.forward, OpId::kLinearOut)[0].k == 8 * 64);
}

TEST_CASE("Kimi's rule makes a decay of each channel through a low rank", "[case]") {
  Sample sample = linear_sample();
  sample.model.mixers.linear_attention->rule = DeltaRule::kKimiDelta;
  sample.model.mixers.linear_attention->qk_heads = 8;
  const BlockOps ops = layer_of(sample);
  CHECK(works_of<Gemm>(ops.forward, OpId::kLinearDecayDown)[0].n == 32);
  CHECK(works_of<Gemm>(ops.forward, OpId::kLinearDecayUp)[0].n == 8 * 32);
  CHECK(works_of<MemoryBound>(ops.forward, OpId::kLinearDecay)[0].cols == 8 * 32 + 8);
  CHECK(works_of<Gemm>(ops.forward, OpId::kLinearGate)[0].k == 1024);
}

// Of both parts of both sequences on both ranks: 8 heads of 32 x (64 + 32) values in fp32.
TEST_CASE("context parallelism gathers what each part makes of the state", "[case]") {
  Sample sample = linear_sample();
  sample.plan.cp = 2;
  const BlockOps ops = layer_of(sample);
  const auto state = works_of<Collective>(ops.forward, OpId::kLinearState);
  REQUIRE(state.size() == 1);
  CHECK(state[0].op == CollectiveOp::kAllGather);
  CHECK(state[0].bytes == Bytes(2 * 2 * 2 * 8 * 32 * (64 + 32) * 4));
  CHECK(works_of<LinearAttention>(ops.forward, OpId::kLinearCore)[0].seq == 256);
  sample.plan.cp_algorithm = CpAlgorithm::kAllToAll;
  const auto by_heads = works_of<LinearAttention>(layer_of(sample).forward, OpId::kLinearCore);
  CHECK((by_heads[0].seq == 512 && by_heads[0].heads == 4 && by_heads[0].qk_heads == 2));
}

TEST_CASE("tensor parallelism divides the heads of linear attention", "[unit]") {
  Sample sample = linear_sample();
  sample.plan.tp = 2;
  sample.plan.sequence_parallel = true;
  const BlockOps ops = layer_of(sample);
  CHECK(works_of<LinearAttention>(ops.forward, OpId::kLinearCore)[0].heads == 4);
  CHECK(works_of<Gemm>(ops.forward, OpId::kLinearOut)[0].k == 4 * 64);
}

// The latents are keys of 128 + 32 and values of 128; each head multiplies its query with 64 x 128
// before, and its result with 128 x 64 after.
TEST_CASE("chosen keys are latents that all heads share", "[case]") {
  const BlockOps ops = layer_of(chosen_sample());
  const auto core = works_of<SparseAttention>(ops.forward, OpId::kAttentionCore);
  REQUIRE(core.size() == 1);
  CHECK((core[0].heads == 16 && core[0].kv_heads == 1 && core[0].d_qk == 160));
  CHECK((core[0].d_v == 128 && core[0].chosen == 128 && core[0].seq_kv == 512));
  const auto absorbed = works_of<Gemm>(ops.forward, OpId::kAttentionQAbsorb);
  REQUIRE(absorbed.size() == 1);
  CHECK((absorbed[0].batch == 16 && absorbed[0].m == kTokens && absorbed[0].n == 128));
  CHECK(absorbed[0].k == 64);
  CHECK(works_of<Gemm>(ops.forward, OpId::kAttentionOAbsorb)[0].k == 128);
  CHECK(works_of<Gemm>(ops.forward, OpId::kAttentionKvUp).empty());
  CHECK(saved(ops, TensorId::kIndexChoice) == Bytes(kTokens * 128 * 4));
}

TEST_CASE("an indexer that is trained has weight gradients and reaches no further", "[case]") {
  Sample sample = chosen_sample();
  const BlockOps trained = layer_of(sample);
  const auto gradients = works_of<Gemm>(trained.backward, OpId::kIndexQ);
  REQUIRE(gradients.size() == 1);
  CHECK(gradients[0].pass == GemmPass::kWgrad);
  CHECK(works_of<IndexScores>(trained.backward, OpId::kIndexScores).size() == 1);
  sample.model.attention.indexer->trained = false;
  const BlockOps untrained = layer_of(sample);
  CHECK(works_of<Gemm>(untrained.forward, OpId::kIndexQ).size() == 1);
  CHECK(works_of<Gemm>(untrained.backward, OpId::kIndexQ).empty());
  CHECK(works_of<IndexScores>(untrained.backward, OpId::kIndexScores).empty());
}

// A sequence of 512 has 128 keys of 4 positions, of which a query chooses 32, or 4 keys of 128.
TEST_CASE("compressed keys stand beside the window", "[case]") {
  Sample indexed = shared_kv_sample(4);
  indexed.model.attention.indexer->chosen = 32;
  const auto chosen = works_of<SparseAttention>(layer_of(indexed).forward, OpId::kAttentionCore);
  REQUIRE(chosen.size() == 1);
  CHECK((chosen[0].seq_kv == 512 && chosen[0].ratio == 4 && chosen[0].chosen == 32));
  CHECK(chosen[0].window == 16);
  const BlockOps whole = layer_of(shared_kv_sample(128));
  const auto all = works_of<SparseAttention>(whole.forward, OpId::kAttentionCore);
  CHECK((all[0].seq_kv == 512 && all[0].ratio == 128 && all[0].chosen == 4));
  CHECK(works_of<IndexScores>(whole.forward, OpId::kIndexScores).empty());
  CHECK(works_of<MemoryBound>(whole.forward, OpId::kCompressionPool)[0].cols == 64);
  const auto down = works_of<Gemm>(whole.forward, OpId::kAttentionODown);
  CHECK((down[0].batch == 4 && down[0].n == 32 && down[0].k == 16 * 64 / 4));
}

// 2 + 4 weights of each of 4 streams of 1024 values.
TEST_CASE("several residual streams are read, mixed and kept", "[case]") {
  Sample sample = test::dense_sample();
  const BlockOps one = layer_of(sample);
  sample.model.residual_streams = 4;
  const BlockOps four = layer_of(sample);
  const auto weights = works_of<Gemm>(four.forward, OpId::kStreamWeights);
  REQUIRE(weights.size() == 2);
  CHECK((weights[0].n == 24 && weights[0].k == 4 * 1024));
  CHECK(works_of<MemoryBound>(four.forward, OpId::kStreamMix)[0].cols == 4 * 1024);
  CHECK(works_of<MemoryBound>(four.forward, OpId::kAttentionResidual).empty());
  CHECK(saved(four, TensorId::kLayerInput) == 4.0 * saved(one, TensorId::kLayerInput));
}

TEST_CASE("attention residuals read one tensor more behind each block", "[case]") {
  Sample sample = test::dense_sample();
  sample.model.residual_block = 2;
  const auto sums = [&](std::int64_t layer) {
    std::vector<std::int64_t> widths;
    for (const MemoryBound& sum :
         works_of<MemoryBound>(layer_of(sample, layer).forward, OpId::kResidualSum)) {
      widths.push_back(sum.cols / 1024);
    }
    return widths;
  };
  CHECK(sums(0) == std::vector<std::int64_t>{2});
  CHECK(sums(1) == std::vector<std::int64_t>{2, 2});
  CHECK(sums(2) == std::vector<std::int64_t>{2, 3});
  CHECK(sums(3) == std::vector<std::int64_t>{3, 3});
}

TEST_CASE("experts of a latent width read what a matrix makes of the hidden state", "[case]") {
  Sample sample = test::moe_sample();
  sample.model.moe->latent_hidden = 256;
  const BlockOps ops = layer_of(sample);
  CHECK(works_of<Gemm>(ops.forward, OpId::kMoeLatentDown)[0].n == 256);
  CHECK(works_of<Gemm>(ops.forward, OpId::kMoeLatentUp)[0].k == 256);
  CHECK(works_of<GroupedGemm>(ops.forward, OpId::kExpertsDown)[0].n == 256);
}

TEST_CASE("a gate scales attention's output in a kernel of its own", "[case]") {
  Sample sample = test::dense_sample();
  sample.model.attention.output_gate = true;
  const BlockOps ops = layer_of(sample);
  CHECK(works_of<Gemm>(ops.forward, OpId::kAttentionGate)[0].n == 1024);
  CHECK(works_of<MemoryBound>(ops.forward, OpId::kAttentionGating)[0].cols == 1024);
  CHECK(saved(ops, TensorId::kAttentionGate) == Bytes(kTokens * 1024 * 2));
}

TEST_CASE("positions that turn a part of a head run over that part", "[unit]") {
  Sample sample = test::dense_sample();
  sample.model.attention.rope_head_dim = 16;
  const BlockOps ops = layer_of(sample);
  CHECK(works_of<MemoryBound>(ops.forward, OpId::kAttentionRope)[0].cols == (16 + 4) * 16);
}

bool has(const OpList& ops, OpId id) {
  return std::any_of(ops.begin(), ops.end(), [id](const Op& op) { return op.id == id; });
}

TEST_CASE("a layer attends with the heads that it has", "[unit]") {
  const Sample sample = uneven_sample();
  const auto core = [&](std::int64_t index) {
    return works_of<Attention>(layer_of(sample, index).forward, OpId::kAttentionCore).at(0);
  };
  CHECK(core(0).heads == 16);
  CHECK(core(1).heads == 8);
  CHECK(core(1).kv_heads == 4);
}

TEST_CASE("a layer without a feed-forward ends with its mixer", "[unit]") {
  Sample sample = uneven_sample();
  sample.training.recompute.kind = RecomputeKind::kFull;
  sample.software.memory.recompute_stops_early = true;
  const BlockOps layer = layer_of(sample, 1);
  CHECK_FALSE(has(layer.forward, OpId::kMlpNorm));
  CHECK(has(layer.forward, OpId::kAttentionO));
  // Nothing of its backward reads what the last product makes.
  CHECK_FALSE(has(layer.full_recompute, OpId::kAttentionO));
  CHECK(has(layer.full_recompute, OpId::kAttentionCore));
}

TEST_CASE("a layer without a mixer is its feed-forward behind one norm", "[unit]") {
  const BlockOps layer = layer_of(uneven_sample(), 2);
  CHECK_FALSE(has(layer.forward, OpId::kAttentionNorm));
  CHECK(has(layer.forward, OpId::kMlpNorm));
  CHECK(saved(layer, TensorId::kMlpInput) == Bytes{});
  CHECK(saved(layer, TensorId::kLayerInput) > Bytes{});
}

TEST_CASE("passes around mixers run as the software says, norms beside them as before", "[unit]") {
  Sample sample = linear_sample();
  sample.software.mixer_passes = Implementation::kEager;
  const BlockOps layer = layer_of(sample);
  const auto made = [&](OpId id) {
    return works_of<MemoryBound>(layer.forward, id).at(0).implementation;
  };
  CHECK(made(OpId::kLinearNorm) == Implementation::kEager);
  CHECK(made(OpId::kAttentionQNorm) == Implementation::kEager);
  CHECK(made(OpId::kAttentionNorm) == Implementation::kFused);
}

}  // namespace
}  // namespace stepcast::mixer_expansion_test
