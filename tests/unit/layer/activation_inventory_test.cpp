// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/activation_inventory.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/sharding.hpp"

namespace stepcast::activation_inventory_test {
namespace {

using test::Sample;

// Korthikanti et al., arXiv 2205.05198, section 4: s, b, h, a of one layer of a GPT with unfused
// attention, dropout and an ungated MLP of 4h.
struct Megatron {
  std::int64_t s;
  std::int64_t b;
  std::int64_t h;
  std::int64_t a;

  [[nodiscard]] double sbh() const { return static_cast<double>(s * b * h); }
  [[nodiscard]] double abss() const { return static_cast<double>(a * b * s * s); }  // sbh * as/h
};

Sample megatron(const Megatron& m, std::int64_t tp, bool sequence_parallel) {
  Sample sample = test::dense_sample();
  sample.model.hidden = m.h;
  sample.model.attention.heads = m.a;
  sample.model.attention.kv_heads = m.a;
  sample.model.attention.qk_head_dim = m.h / m.a;
  sample.model.attention.v_head_dim = m.h / m.a;
  sample.model.mlp.ffn_hidden = 4 * m.h;
  sample.model.mlp.gated = false;
  sample.training.sequence_length = m.s;
  sample.training.micro_batch_size = m.b;
  sample.training.dropout = true;
  sample.software.attention = AttentionKernel::kUnfused;
  sample.plan.tp = tp;
  sample.plan.sequence_parallel = sequence_parallel;
  return sample;
}

Bytes saved(const Sample& sample) { return total(saved_tensors(sample.context(), {})); }

const Megatron kModel22B{2048, 4, 6144, 64};
const Megatron kModel175B{2048, 1, 12288, 96};

TEST_CASE("scores that are written out stay in fp32 and in 16 bits", "[case]") {
  const Sample fused = megatron(kModel22B, 1, false);
  Sample eager = fused;
  eager.software.attention_scores = Implementation::kEager;
  CHECK(saved(eager) == saved(fused) + Bytes(4 * kModel22B.abss()));
}

TEST_CASE("one GPU saves s b h (34 + 5 a s / h) bytes a layer", "[case]") {
  for (const Megatron& m : {kModel22B, kModel175B}) {
    CHECK(saved(megatron(m, 1, false)) == Bytes(34 * m.sbh() + 5 * m.abss()));
  }
}

TEST_CASE("tensor parallelism saves s b h (10 + 24/t + 5 a s / (h t)) bytes a layer", "[case]") {
  for (const std::int64_t t : {2, 4, 8}) {
    const Megatron m = kModel22B;
    const auto ranks = static_cast<double>(t);
    CHECK(saved(megatron(m, t, false)) ==
          Bytes(10 * m.sbh() + 24 * m.sbh() / ranks + 5 * m.abss() / ranks));
  }
}

TEST_CASE("sequence parallelism divides all of it: s b h (34 + 5 a s / h) / t", "[case]") {
  for (const std::int64_t t : {2, 4, 8}) {
    const Megatron m = kModel22B;
    CHECK(saved(megatron(m, t, true)) ==
          Bytes((34 * m.sbh() + 5 * m.abss()) / static_cast<double>(t)));
  }
}

TEST_CASE("selective recomputation of attention leaves 34 s b h, with sequence parallelism / t",
          "[case]") {
  const Megatron m = kModel22B;
  Sample one = megatron(m, 1, false);
  one.training.recompute.kind = RecomputeKind::kSelective;
  CHECK(saved(one) == Bytes(34 * m.sbh()));
  Sample eight = megatron(m, 8, true);
  eight.training.recompute.kind = RecomputeKind::kSelective;
  CHECK(saved(eight) == Bytes(34 * m.sbh() / 8));
}

TEST_CASE("full recomputation keeps 2 s b h, with sequence parallelism / t", "[case]") {
  const Megatron m = kModel22B;
  CHECK(layer_input(megatron(m, 1, false).context()) == Bytes(2 * m.sbh()));
  CHECK(layer_input(megatron(m, 8, true).context()) == Bytes(2 * m.sbh() / 8));
}

// Instead of 5 a b s^2: one 4-byte log-sum-exp a row of each head.
TEST_CASE("flash attention keeps 4 a s b bytes instead of the scores", "[case]") {
  const Megatron m = kModel22B;
  Sample sample = megatron(m, 1, false);
  sample.software.attention = AttentionKernel::kFlash2;
  CHECK(saved(sample) == Bytes(34 * m.sbh() + 4 * static_cast<double>(m.a * m.s * m.b)));
}

TEST_CASE("without dropout its two masks of a byte are gone", "[unit]") {
  const Megatron m = kModel22B;
  Sample sample = megatron(m, 1, false);
  sample.software.attention = AttentionKernel::kFlash2;
  const Bytes with = saved(sample);
  sample.training.dropout = false;
  CHECK(with - saved(sample) == Bytes(2 * m.sbh()));
}

TEST_CASE("the sum is that of the tensors, and each tensor has a name", "[unit]") {
  for (const Sample& sample : {test::dense_sample(), test::moe_sample()}) {
    const LayerKind kind{.moe = sample.model.moe.has_value()};
    Bytes sum;
    for (const SavedTensor& tensor : saved_tensors(sample.context(), kind)) {
      CHECK_FALSE(name(tensor.id).empty());
      CHECK(tensor.bytes > Bytes{});
      sum += tensor.bytes;
    }
    CHECK(sum == total(saved_tensors(sample.context(), kind)));
  }
}

TEST_CASE("each recomputed module saves memory and none adds any", "[property]") {
  Sample sample = test::moe_sample();
  sample.model.attention.kind = AttentionKind::kMla;
  sample.model.attention.mla = {
      .q_lora_rank = 128, .kv_lora_rank = 64, .qk_nope_head_dim = 48, .qk_rope_head_dim = 16};
  sample.model.attention.kv_heads = sample.model.attention.heads;
  for (const bool moe : {false, true}) {
    Sample none = sample;
    const Bytes everything = total(saved_tensors(none.context(), {.moe = moe}));
    for (const RecomputeModule module :
         {RecomputeModule::kCoreAttention, RecomputeModule::kLayerNorm,
          RecomputeModule::kMlpActivation, RecomputeModule::kMlaUp,
          moe ? RecomputeModule::kMoe : RecomputeModule::kMlp}) {
      Sample some = sample;
      some.training.recompute.kind = RecomputeKind::kSelective;
      some.training.recompute.modules = {module};
      CHECK(total(saved_tensors(some.context(), {.moe = moe})) < everything);
    }
  }
}

TEST_CASE("the vocabulary is padded to a multiple for every tensor-parallel rank", "[unit]") {
  Sample sample = test::dense_sample();
  sample.model.vocabulary = 50'257;
  sample.software.vocabulary_multiple = 128;
  CHECK(local_vocabulary(sample.model, sample.plan, sample.software) == 50'304);  // 393 * 128
  sample.plan.tp = 8;
  CHECK(local_vocabulary(sample.model, sample.plan, sample.software) == 6'400);  // 50 * 128
}

}  // namespace
}  // namespace stepcast::activation_inventory_test
