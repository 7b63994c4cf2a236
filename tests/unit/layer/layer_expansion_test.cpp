// SPDX-License-Identifier: Apache-2.0
#include "stepcast/layer/layer_expansion.hpp"

#include <algorithm>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::layer_expansion_test {
namespace {

using test::nearly;
using test::Sample;

template <typename Work>
std::vector<Work> works_of(const OpList& ops, std::string_view prefix = {}) {
  std::vector<Work> works;
  for (const Op& op : ops) {
    if (const Work* work = std::get_if<Work>(&op.work); work && name(op.id).starts_with(prefix)) {
      works.push_back(*work);
    }
  }
  return works;
}

double flops_of(const OpList& ops) {
  double sum = 0.0;
  for (const Op& op : ops) {
    sum += flops(op).value();
  }
  return sum;
}

Sample mla_sample() {
  Sample sample = test::dense_sample();
  AttentionSpec& attention = sample.model.attention;
  attention.kind = AttentionKind::kMla;
  attention.kv_heads = attention.heads;
  attention.mla = {
      .q_lora_rank = 256, .kv_lora_rank = 128, .qk_nope_head_dim = 64, .qk_rope_head_dim = 32};
  attention.qk_head_dim = 96;
  return sample;
}

Sample with_tp(Sample sample, std::int64_t tp, bool sequence_parallel) {
  sample.plan.tp = tp;
  sample.plan.sequence_parallel = sequence_parallel;
  return sample;
}

TEST_CASE("a dense layer has the GEMMs of the Llama paper", "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.fused_qkv = false;
  sample.software.fused_gate_up = false;
  const BlockOps ops = expand_layer(sample.context(), {});
  const std::vector<Gemm> gemms = works_of<Gemm>(ops.forward);
  REQUIRE(gemms.size() == 7);  // q, k, v, o, gate, up, down; 1024 tokens
  const auto shape = [](const Gemm& g) { return std::vector<std::int64_t>{g.m, g.n, g.k}; };
  CHECK(shape(gemms[0]) == std::vector<std::int64_t>{1024, 1024, 1024});
  CHECK(shape(gemms[1]) == std::vector<std::int64_t>{1024, 256, 1024});  // 4 key heads of 64
  CHECK(shape(gemms[4]) == std::vector<std::int64_t>{1024, 4096, 1024});
  CHECK(shape(gemms[6]) == std::vector<std::int64_t>{1024, 1024, 4096});
  CHECK(works_of<Attention>(ops.forward).size() == 1);
}

TEST_CASE("parallel blocks run behind one norm or one each, and an embedding may have one",
          "[unit]") {
  Sample sample = test::dense_sample();
  const auto norms = [](const OpList& ops) {
    return std::ranges::count_if(ops, [](const Op& op) {
      return op.id == OpId::kAttentionNorm || op.id == OpId::kMlpNorm ||
             op.id == OpId::kEmbeddingNorm;
    });
  };
  CHECK(norms(expand_layer(sample.context(), {}).forward) == 2);
  CHECK(norms(expand_embedding(sample.context()).forward) == 0);
  sample.model.parallel_blocks = true;
  CHECK(norms(expand_layer(sample.context(), {}).forward) == 2);
  sample.model.norms_per_layer = 1;
  CHECK(norms(expand_layer(sample.context(), {}).forward) == 1);
  sample.model.embedding_norm = true;
  CHECK(norms(expand_embedding(sample.context()).forward) == 1);
}

TEST_CASE("copies of q, k and v run around attention in both directions", "[unit]") {
  Sample sample = test::dense_sample();
  const auto copies = [&](const OpList& ops) {
    return works_of<MemoryBound>(ops, "attention.copy");
  };
  CHECK(copies(expand_layer(sample.context(), {}).forward).empty());
  sample.software.attention_copies = 3;
  const BlockOps ops = expand_layer(sample.context(), {});
  REQUIRE(copies(ops.forward).size() == 3);
  CHECK(copies(ops.backward).size() == 3);
  CHECK(copies(ops.forward)[0].rows == 1024);
  CHECK(copies(ops.forward)[0].cols == (16 + 2 * 4) * 64);
}

// q down, q up, kv down, k rope, kv up, o; and for each dgrad and wgrad.
TEST_CASE("latent attention has 6 GEMMs forward and 12 backward with k rope a product of its own",
          "[case]") {
  Sample sample = mla_sample();
  sample.software.mla_k_rope = RopeKeyProduct::kOwn;
  const BlockOps ops = expand_layer(sample.context(), {});
  const std::vector<Gemm> down = works_of<Gemm>(ops.forward, "attention.k");
  REQUIRE(down.size() == 3);
  CHECK(down[0].n == 128);  // the latent
  CHECK(down[1].n == 32);   // k rope
  CHECK(works_of<Gemm>(ops.forward, "attention.").size() == 6);
  CHECK(works_of<Gemm>(ops.backward, "attention.").size() == 12);
}

TEST_CASE(
    "latent attention has 5 GEMMs forward and 10 backward with k rope in the latent's product",
    "[case]") {
  Sample sample = mla_sample();
  sample.software.mla_k_rope = RopeKeyProduct::kKvDown;
  const BlockOps ops = expand_layer(sample.context(), {});
  const std::vector<Gemm> down = works_of<Gemm>(ops.forward, "attention.k");
  REQUIRE(down.size() == 2);
  CHECK(down[0].n == 128 + 32);
  CHECK(works_of<Gemm>(ops.forward, "attention.").size() == 5);
  CHECK(works_of<Gemm>(ops.backward, "attention.").size() == 10);
}

// 2 x 1,024 tokens x 1,024 hidden x 160 either way, and twice that in backward.
TEST_CASE("where k rope is computed changes no FLOP of latent attention", "[case]") {
  Sample sample = mla_sample();
  sample.software.fused_gate_up = true;
  const BlockOps together = expand_layer(sample.context(), {});
  sample.software.mla_k_rope = RopeKeyProduct::kOwn;
  const BlockOps apart = expand_layer(sample.context(), {});
  CHECK(flops_of(together.forward) == flops_of(apart.forward));
  CHECK(flops_of(together.backward) == flops_of(apart.backward));
}

TEST_CASE("fusing projections changes the number of GEMMs and no FLOP", "[unit]") {
  for (Sample sample : {test::dense_sample(), mla_sample(), test::moe_sample()}) {
    const LayerKind kind{.moe = sample.model.moe.has_value()};
    sample.software.fused_qkv = true;
    sample.software.fused_gate_up = true;
    const BlockOps fused = expand_layer(sample.context(), kind);
    sample.software.fused_qkv = false;
    sample.software.fused_gate_up = false;
    const BlockOps apart = expand_layer(sample.context(), kind);
    CHECK(fused.forward.size() < apart.forward.size());
    CHECK(flops_of(fused.forward) == flops_of(apart.forward));
    CHECK(flops_of(fused.backward) == flops_of(apart.backward));
  }
}

TEST_CASE("every forward GEMM has a dgrad and a wgrad with the same FLOPs", "[property]") {
  for (const Sample& sample : {test::dense_sample(), mla_sample(), test::moe_sample()}) {
    const BlockOps ops = expand_layer(sample.context(), {.moe = sample.model.moe.has_value()});
    double forward = 0.0;
    double dgrad = 0.0;
    double wgrad = 0.0;
    const auto add = [&](const auto& gemm) {
      double& sum = gemm.pass == GemmPass::kForward ? forward
                    : gemm.pass == GemmPass::kDgrad ? dgrad
                                                    : wgrad;
      sum += flops(gemm).value();
    };
    for (const OpList* list : {&ops.forward, &ops.backward}) {
      for (const Gemm& gemm : works_of<Gemm>(*list)) {
        add(gemm);
      }
      for (const GroupedGemm& gemm : works_of<GroupedGemm>(*list)) {
        add(gemm);
      }
    }
    CHECK(forward > 0.0);
    CHECK(dgrad == forward);
    CHECK(wgrad == forward);
  }
}

TEST_CASE("backward runs in the opposite order of forward", "[unit]") {
  const BlockOps ops = expand_layer(test::dense_sample().context(), {});
  CHECK(ops.forward.front().id == ops.backward.back().id);
  CHECK(ops.forward.back().id == ops.backward.front().id);
}

TEST_CASE("tensor parallelism splits N or K of a GEMM and never its tokens", "[property]") {
  const Sample whole = test::dense_sample();
  const std::vector<Gemm> before = works_of<Gemm>(expand_layer(whole.context(), {}).forward);
  for (const std::int64_t tp : {2, 4}) {
    for (const bool sp : {false, true}) {
      const Sample split = with_tp(whole, tp, sp);
      const std::vector<Gemm> after = works_of<Gemm>(expand_layer(split.context(), {}).forward);
      REQUIRE(after.size() == before.size());
      for (std::size_t i = 0; i < after.size(); ++i) {
        CAPTURE(tp, sp, i);
        CHECK(after[i].m == before[i].m);
        const bool columns = after[i].n * tp == before[i].n && after[i].k == before[i].k;
        const bool rows = after[i].k * tp == before[i].k && after[i].n == before[i].n;
        CHECK(columns != rows);
      }
    }
  }
}

TEST_CASE("FLOPs summed over tensor-parallel ranks are those of one GPU", "[property]") {
  const Sample whole = test::dense_sample();
  const BlockOps one = expand_layer(whole.context(), {});
  for (const std::int64_t tp : {2, 4}) {
    for (const bool sp : {false, true}) {
      const Sample split = with_tp(whole, tp, sp);
      const BlockOps each = expand_layer(split.context(), {});
      const auto ranks = static_cast<double>(tp);
      CHECK(ranks * flops_of(each.forward) == nearly(flops_of(one.forward)));
      CHECK(ranks * flops_of(each.backward) == nearly(flops_of(one.backward)));
    }
  }
}

TEST_CASE("FLOPs of the experts are the same whatever expert parallelism holds where",
          "[property]") {
  const Sample whole = test::moe_sample();
  const LayerKind kind{.moe = true};
  const double one = flops_of(expand_layer(whole.context(), kind).forward);
  for (const std::int64_t ep : {2, 4, 16}) {
    Sample split = whole;
    split.plan.ep = ep;
    CHECK(flops_of(expand_layer(split.context(), kind).forward) == nearly(one));
  }
  // Expert tensor parallelism: etp times the rows at 1/etp of the width.
  Sample split = whole;
  split.plan.etp = 2;
  CHECK(flops_of(expand_layer(split.context(), kind).forward) == nearly(one));
}

TEST_CASE("one GPU communicates nothing", "[property]") {
  for (const Sample& sample : {test::dense_sample(), mla_sample(), test::moe_sample()}) {
    const LayerKind kind{.moe = sample.model.moe.has_value()};
    for (const BlockOps& ops :
         {expand_layer(sample.context(), kind), expand_embedding(sample.context()),
          expand_loss(sample.context()), expand_mtp_projection(sample.context())}) {
      CHECK(works_of<Collective>(ops.forward).empty());
      CHECK(works_of<Collective>(ops.backward).empty());
    }
  }
}

// Megatron-LM, section 3: two all-reduces forward and two backward of s b h values of 2 bytes.
TEST_CASE("tensor parallelism all-reduces twice forward and twice backward", "[case]") {
  const Sample sample = with_tp(test::dense_sample(), 4, false);
  const BlockOps ops = expand_layer(sample.context(), {});
  for (const OpList* list : {&ops.forward, &ops.backward}) {
    const std::vector<Collective> collectives = works_of<Collective>(*list);
    REQUIRE(collectives.size() == 2);
    for (const Collective& collective : collectives) {
      CHECK(collective.op == CollectiveOp::kAllReduce);
      CHECK(collective.bytes == Bytes(512 * 2 * 1024 * 2));
      CHECK(collective.group == ProcessGroup{4, 1});
      CHECK(collective.axis == Axis::kTensor);
    }
  }
}

// Korthikanti et al.: g and g-bar; backward gathers the saved input shards once more for wgrad.
TEST_CASE("sequence parallelism gathers and scatters instead", "[case]") {
  const Sample sample = with_tp(test::dense_sample(), 4, true);
  const BlockOps ops = expand_layer(sample.context(), {});
  const auto count = [](const OpList& list, CollectiveOp op) {
    int found = 0;
    for (const Collective& collective : works_of<Collective>(list)) {
      found += collective.op == op ? 1 : 0;
      CHECK(collective.bytes == Bytes(512 * 2 * 1024 * 2));
    }
    return found;
  };
  CHECK(count(ops.forward, CollectiveOp::kAllGather) == 2);
  CHECK(count(ops.forward, CollectiveOp::kReduceScatter) == 2);
  CHECK(count(ops.backward, CollectiveOp::kAllGather) == 4);
  CHECK(count(ops.backward, CollectiveOp::kReduceScatter) == 2);
  CHECK(count(ops.forward, CollectiveOp::kAllReduce) == 0);
}

// A rank sends k copies of its own tokens, H values of 2 bytes each.
TEST_CASE("an expert exchange moves k s b h 2 bytes each way", "[case]") {
  Sample sample = test::moe_sample();
  sample.plan.ep = 8;
  const BlockOps ops = expand_layer(sample.context(), {.moe = true});
  for (const OpList* list : {&ops.forward, &ops.backward}) {
    const std::vector<Collective> exchanges = works_of<Collective>(*list);
    REQUIRE(exchanges.size() == 2);  // dispatch and combine
    for (const Collective& exchange : exchanges) {
      CHECK(exchange.op == CollectiveOp::kAllToAll);
      CHECK(exchange.axis == Axis::kExpert);
      CHECK(exchange.bytes == Bytes(2 * 1024 * 1024 * 2));  // k, tokens, H, 2 bytes
    }
  }
}

TEST_CASE("under sequence parallelism an all-to-all moves S / tp tokens", "[case]") {
  Sample sample = with_tp(test::moe_sample(), 4, true);
  sample.plan.ep = 8;
  const BlockOps ops = expand_layer(sample.context(), {.moe = true});
  const std::vector<Collective> exchanges = works_of<Collective>(ops.forward, "moe.");
  REQUIRE(exchanges.size() == 2);
  CHECK(exchanges[0].bytes == Bytes(2 * (1024 / 4) * 1024 * 2));
}

TEST_CASE("experts see k copies of the tokens, shared by the local ones", "[unit]") {
  Sample sample = test::moe_sample();
  sample.plan.ep = 4;
  const std::vector<GroupedGemm> gemms =
      works_of<GroupedGemm>(expand_layer(sample.context(), {.moe = true}).forward);
  REQUIRE(gemms.size() == 2);       // gate and up in one, down
  CHECK(gemms[0].groups == 4);      // 16 / ep
  CHECK(gemms[0].m_total == 2048);  // 2 * 1024 tokens
  CHECK(gemms[0].n == 2 * 512);
  CHECK(gemms[0].k == 1024);
}

TEST_CASE("selective recomputation repeats the modules it names", "[unit]") {
  Sample sample = test::dense_sample();
  CHECK(expand_layer(sample.context(), {}).recompute.empty());
  sample.training.recompute.kind = RecomputeKind::kSelective;
  const BlockOps attention = expand_layer(sample.context(), {});
  REQUIRE(attention.recompute.size() == 1);
  CHECK(attention.recompute[0].id == OpId::kAttentionCore);
  sample.training.recompute.modules = {RecomputeModule::kLayerNorm, RecomputeModule::kMlp};
  const BlockOps both = expand_layer(sample.context(), {});
  CHECK(works_of<Gemm>(both.recompute).size() == 2);  // gate_up and down
  CHECK(works_of<Attention>(both.recompute).empty());
}

TEST_CASE("fp8 products quantise their operands, and the output matrix stays in 16 bits",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.training.dtype = Dtype::kFp8;
  const BlockOps ops = expand_layer(sample.context(), {});
  int quantised = 0;
  int transposed = 0;
  for (const MemoryBound& op : works_of<MemoryBound>(ops.forward)) {
    quantised += op.kind == MemoryBoundKind::kQuantize ? 1 : 0;
    transposed += op.kind == MemoryBoundKind::kTranspose ? 1 : 0;
  }
  CHECK(quantised == 8);  // input and weight of qkv, o, gate_up, down
  CHECK(transposed == 8);
  CHECK(works_of<Gemm>(ops.forward)[0].dtype == Dtype::kFp8);
  CHECK(works_of<Gemm>(expand_loss(sample.context()).forward)[0].dtype == Dtype::kBf16);
}

TEST_CASE("compiled 8-bit products cast in compiled passes, those behind a norm byte by byte",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.training.dtype = Dtype::kFp8;
  sample.software.quantize = Implementation::kCompiled;
  sample.software.transposes_in_norm = true;
  const BlockOps ops = expand_layer(sample.context(), {});
  const auto count = [](const OpList& list, MemoryBoundKind kind) {
    std::int64_t found = 0;
    for (const MemoryBound& op : works_of<MemoryBound>(list)) {
      if (op.kind == kind) {
        ++found;
        CHECK(op.implementation == Implementation::kCompiled);
      }
    }
    return found;
  };
  CHECK(count(ops.forward, MemoryBoundKind::kQuantize) == 8);
  CHECK(count(ops.forward, MemoryBoundKind::kTranspose) == 7);  // all but the input of qkv
  CHECK(count(ops.backward, MemoryBoundKind::kTransposeInNorm) == 1);
}

// With s tokens of a rank, w the width of keys and values and d that of results: keys are put
// together and gathered, each further rank's part is merged, and gradients of keys go round in
// fp32.
TEST_CASE("PyTorch's ring attention merges in passes and sends gradients of keys in fp32",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.cp = 4;
  sample.plan.cp_algorithm = CpAlgorithm::kAllGather;
  const AttentionSpec& a = sample.model.attention;
  const auto s = static_cast<double>(sample.context().tokens());
  const auto w = static_cast<double>(a.kv_heads * (a.qk_head_dim + a.v_head_dim));
  sample.software.ring_attention = Implementation::kCompiled;
  const BlockOps passes = expand_layer(sample.context(), {});
  double sent = 0.0;
  for (const Collective& op : works_of<Collective>(passes.backward)) {
    sent += op.op == CollectiveOp::kSendRecv ? op.bytes.value() : 0.0;
    CHECK(op.op != CollectiveOp::kReduceScatter);
  }
  CHECK(sent == nearly(4.0 * 4.0 * s * w));
  double merged = 0.0;
  for (const MemoryBound& op : works_of<MemoryBound>(passes.forward)) {
    merged += op.kind == MemoryBoundKind::kMergePartials ? static_cast<double>(op.rows) : 0.0;
  }
  CHECK(merged == nearly(3.0 * s));
}

// Each product of a tensor gives it a gradient: q, k and v two sums, gate and up one.
TEST_CASE("projections that are kept apart sum the gradients of their input", "[unit]") {
  const auto sums = [](const Sample& sample) {
    std::int64_t count = 0;
    for (const Op& op : expand_layer(sample.context(), {}).backward) {
      count += name(op.id).ends_with("gradient_sum") ? 1 : 0;
    }
    return count;
  };
  Sample sample = test::dense_sample();
  sample.software.fused_qkv = true;
  sample.software.fused_gate_up = true;
  CHECK(sums(sample) == 0);
  sample.software.fused_gate_up = false;
  CHECK(sums(sample) == 1);
  sample.software.fused_qkv = false;
  CHECK(sums(sample) == 3);
}

TEST_CASE("the output matrix is divided over the vocabulary", "[unit]") {
  const Sample sample = with_tp(test::dense_sample(), 4, true);
  const std::vector<Gemm> gemms = works_of<Gemm>(expand_loss(sample.context()).forward);
  REQUIRE(gemms.size() == 1);
  CHECK(gemms[0].m == 1024);
  CHECK(gemms[0].n == 8000);  // 32,000 / 4
  CHECK(gemms[0].k == 1024);
}

TEST_CASE("key and value heads are replicated where there are fewer than ranks", "[unit]") {
  Sample sample = with_tp(test::dense_sample(), 8, true);
  sample.software.fused_qkv = false;
  const std::vector<Gemm> gemms =
      works_of<Gemm>(expand_layer(sample.context(), {}).forward, "attention.");
  CHECK(gemms[0].n == 128);  // 16 / 8 query heads of 64
  CHECK(gemms[1].n == 64);   // one of the 4 key heads
}

// Two sequences of 512; 16 heads of queries, 4 of keys.
TEST_CASE("Documents that a tensor masks cost every pair, repeated heads and the tensor",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.model.attention.kv_heads = 4;
  sample.software.masks_by_tensor = true;
  const auto core = [&] {
    return works_of<Attention>(expand_layer(sample.context(), {}).forward,
                               name(OpId::kAttentionCore))
        .front();
  };
  CHECK(!core().mask_tensor);
  CHECK(core().causal);
  sample.training.documents.length = 128;
  CHECK(core().mask_tensor);
  CHECK(!core().causal);
  CHECK(core().kv_heads == core().heads);
  CHECK(attended_pairs(core()) == nearly(512.0 * 512.0));
  const BlockOps ops = expand_layer(sample.context(), {});
  const double pairs = 2.0 * 512.0 * 512.0;
  const auto kept = std::ranges::find(ops.saved, TensorId::kAttentionMask, &SavedTensor::id);
  REQUIRE(kept != ops.saved.end());
  CHECK(kept->bytes.value() == nearly(2.0 * pairs));
  // A kernel that keeps documents apart needs no tensor.
  sample.software.attention = AttentionKernel::kFlex;
  CHECK(!core().mask_tensor);
}

TEST_CASE("A norm of queries and keys may turn them too, for models that have one", "[unit]") {
  Sample sample = test::dense_sample();
  sample.model.positions = Positions::kRope;
  sample.software.rope_in_qk_norm = true;
  const auto turns = [&] {
    return works_of<MemoryBound>(expand_layer(sample.context(), {}).forward,
                                 name(OpId::kAttentionRope))
        .size();
  };
  CHECK(turns() == 1);
  sample.model.attention.qk_norm = QkNorm::kHead;
  CHECK(turns() == 0);
}

}  // namespace
}  // namespace stepcast::layer_expansion_test
