// SPDX-License-Identifier: Apache-2.0
// Memory of the path through the experts, and of what software keeps around it: each cause by
// itself, with numbers to check by hand. The sample has T = 1,024 tokens of H = 1,024, 16 experts
// of F = 512, two a token.
#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/layer/exchange_shape.hpp"
#include "stepcast/memory/first_layer.hpp"
#include "stepcast/memory/fsdp_unit.hpp"
#include "stepcast/memory/memory_footprint.hpp"

namespace stepcast::expert_memory_test {
namespace {

using test::contains_text;
using test::nearly;
using test::Sample;

constexpr double kMi = 1024.0 * 1024.0;
constexpr LayerKind kExperts{.moe = true};

Bytes kept(const Sample& sample, TensorId id, LayerKind kind = kExperts) {
  Bytes sum;
  for (const SavedTensor& tensor : saved_tensors(sample.context(), kind)) {
    sum += tensor.id == id ? tensor.bytes : Bytes{};
  }
  return sum;
}

Sample exchanging_sample(std::int64_t ranks, Dispatcher dispatcher = Dispatcher::kAllToAll) {
  Sample sample = test::moe_sample();
  sample.plan.ep = ranks;
  sample.plan.dp = ranks;
  sample.plan.exchange.dispatcher = dispatcher;
  return sample;
}

StageBudget budget_of(const Sample& sample) {
  return stage_budget(sample.context(), StageBuilder().stage(sample.context(), 0));
}

}  // namespace

TEST_CASE("rows sorted by index keep four indices, and those weighted in fp32 four bytes a value",
          "[unit]") {
  Sample sample = exchanging_sample(2);
  CHECK(kept(sample, TensorId::kMoeCombinedRows) == Bytes(4.0 * kMi));  // T k H 2
  CHECK(kept(sample, TensorId::kMoeRowIndices) == Bytes{});
  sample.software.permute_order = PermuteOrder::kIndex;
  sample.software.weighted_sum = Bytes(4);
  CHECK(kept(sample, TensorId::kMoeCombinedRows) == Bytes(8.0 * kMi));
  // 2,048 rows are sent and as many sorted, each there and back by 8 bytes.
  CHECK(kept(sample, TensorId::kMoeRowIndices) == Bytes(4.0 * 2'048 * 8));
  sample.plan.ep = 1;  // nothing arrives that would have to be sorted
  CHECK(kept(sample, TensorId::kMoeRowIndices) == Bytes(2.0 * 2'048 * 8));
}

TEST_CASE("rows need not stay for scores that were multiplied into the activation", "[unit]") {
  Sample sample = exchanging_sample(2);
  sample.software.memory.weighs_in_activation = true;
  CHECK(kept(sample, TensorId::kMoeCombinedRows) == Bytes{});
}

TEST_CASE("a shared expert that is not compiled keeps its activated gate", "[unit]") {
  Sample sample = exchanging_sample(2);
  sample.model.moe->shared_expert_ffn_hidden = 512;
  sample.software.activation = Implementation::kCompiled;
  CHECK(kept(sample, TensorId::kMlpActivatedGate) == Bytes{});
  sample.software.compiles_shared_expert = false;
  CHECK(kept(sample, TensorId::kMlpActivatedGate) == Bytes(1.0 * kMi));  // T F 2
}

TEST_CASE("values that are a view keep the whole up projection", "[unit]") {
  Sample sample = test::moe_sample();
  sample.model = test::shipped_model("deepseek_v2_lite");  // 16 heads of 128 + 64 and 128
  CHECK(kept(sample, TensorId::kAttentionV) == Bytes(4.0 * kMi));
  sample.software.memory.values_keep_projection = true;
  CHECK(kept(sample, TensorId::kAttentionV) == Bytes(8.0 * kMi));  // T 16 (128 + 128) 2
}

TEST_CASE("what is kept in fewer bits takes as many bytes as it says", "[unit]") {
  Sample sample = test::dense_sample();
  const Bytes input = kept(sample, TensorId::kMlpActivationInput, {});
  const Bytes output = kept(sample, TensorId::kAttentionOutput, {});
  sample.software.memory.activation_input = Bytes(1);
  sample.software.memory.attention_output = Bytes(1.5);
  CHECK(kept(sample, TensorId::kMlpActivationInput, {}) == 0.5 * input);
  CHECK(kept(sample, TensorId::kAttentionOutput, {}) == 0.75 * output);
}

// T (3 F - F) of the activation's backward is the highest of F = 4,096 and H = 1,024, beside the
// gradient of the residual stream.
TEST_CASE("a dense backward holds its stream and the gradients of its activation", "[unit]") {
  Sample sample = test::dense_sample();
  CHECK(backward_workspace(sample.context(), {}) == Bytes((16.0 + 2.0) * kMi));
  sample.software.keeps_activation_product = false;  // nothing of it is freed on the way
  CHECK(backward_workspace(sample.context(), {}) == Bytes((24.0 + 2.0) * kMi));
  sample.software.keeps_activation_product = true;  // nor in the one function of a compiled block
  sample.software.activation = Implementation::kCompiled;
  CHECK(backward_workspace(sample.context(), {}) == Bytes((24.0 + 2.0) * kMi));
  // H = 16 F: two gradients of what gate and up read, after three tensors of F are gone.
  sample.software = {};
  sample.software.fused_gate_up = false;
  sample.model.mlp.ffn_hidden = 64;
  CHECK(backward_workspace(sample.context(), {}).value() ==
        nearly(1'024.0 * 2 * (1'024 + 2 * 1'024 + 64 - 3 * 64)));
}

// 8,192 rows for the worst case: what the experts made takes 16 MiB, as much as the gradients of
// their activation; 4 MiB of rows that came back are not there yet, or gone.
TEST_CASE("rows in symmetric buffers are counted in them alone", "[unit]") {
  Sample sample = exchanging_sample(4, Dispatcher::kMinimalAsyncEp);
  sample.training.recompute.kind = RecomputeKind::kFull;
  sample.training.recompute.layers = 1;
  CHECK(backward_workspace(sample.context(), kExperts) == Bytes((16.0 - 4.0 + 2.0) * kMi));
  const StageMemory memory = memory_by_stage(sample.context()).front();
  const double rows = 2.0 * 8'192 * 1'024 * 2;
  CHECK(memory.exchange == Bytes(rows + 4 * 16 * 8));
  CHECK(memory.symmetric == memory.exchange);
  CHECK(memory.allocated() == memory.total() - memory.symmetric);
  CHECK(memory.reserved.value() == nearly(1.05 * memory.allocated().value()));
}

// Sent and received at once: 4 MiB of rows that arrive, of what is sent, and of what the experts
// made; weighted rows have a gradient, and eagerly a product with it.
TEST_CASE("rows of an all-to-all are held while they are on their way", "[unit]") {
  Sample sample = exchanging_sample(2);
  const auto workspace = [&] { return backward_workspace(sample.context(), kExperts).value(); };
  CHECK(workspace() == 2 * kMi + 4 * kMi);  // 8 MiB sorted back, less those that came back
  sample.software.permute = Implementation::kEager;
  CHECK(workspace() == 2 * kMi + 8 * kMi);
  const StageMemory memory = memory_by_stage(sample.context()).front();
  CHECK(memory.symmetric == Bytes{});
}

TEST_CASE("shapes that are fixed make room for a share of the worst case", "[unit]") {
  Sample sample = exchanging_sample(4);
  CHECK(buffer_rows(sample.context()) == 2'048);
  sample.software.memory.static_rows = 1.0;
  CHECK(buffer_rows(sample.context()) == 8'192);  // W T k
  CHECK(expert_rows(sample.context()) == 2'048);  // computed are those that arrive
  sample.software.memory.static_rows = 0.5;
  CHECK(buffer_rows(sample.context()) == 4'096);
}

TEST_CASE("a captured step has one pool", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  sample.plan.micro_batches = 1;
  sample.software.memory.gradients_stay = false;
  const StageMemory apart = memory_by_stage(sample.context()).front();
  sample.software.cuda_graph = true;
  const StageMemory captured = memory_by_stage(sample.context()).front();
  CHECK(captured.total() == apart.total());
  CHECK(captured.reserved.value() == nearly(1.05 * captured.total().value()));
  CHECK(apart.reserved > captured.reserved);
}

// Embedding and head of 2 x 32,000 x 1,024 values, reduced in fp32: 16-bit gradients go as they are
// copied, but for the last one; then comes the shard, which is among the gradients.
TEST_CASE("the last FSDP group needs its copy, its last gradient and no gathered weights",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.zero = 3;
  sample.software.memory.root_holds_ends = true;
  const double matrix = 32'000.0 * 1'024.0;
  const auto reduced = [&](std::int64_t ranks) {
    sample.plan.dp = ranks;
    sample.plan.fsdp = ranks;
    return budget_of(sample).reduced_ends.value();
  };
  CHECK(reduced(2) == 8 * matrix + 2 * matrix);
  CHECK(reduced(8) == 8 * matrix + 4 * matrix - matrix);
}

TEST_CASE("experts that FSDP shards have unsharded gradients until their micro-batches are done",
          "[unit]") {
  Sample sample = exchanging_sample(4);
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.edp = 2;
  sample.plan.zero = 3;
  sample.plan.fsdp_reshard = false;
  StageBuilder builder;
  const BuiltStage& stage = builder.stage(sample.context(), 0);
  const double elements = stage.parameters.all().total();
  CHECK(stage.parameters.all().expert > 0.0);
  CHECK(stage_budget(sample.context(), stage).full_gradients == Bytes(4.0 * elements));
}

TEST_CASE("experts that full sharding leaves out are held whole by every replica", "[unit]") {
  Sample sample = exchanging_sample(4);
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.edp = 2;
  sample.plan.zero = 3;
  const LocalParameters parameters{.dense = 8e6, .expert = 2e6};
  const auto states = [&] { return state_memory(parameters, sample.plan, sample.software); };
  const StateBytes& bytes = sample.software.states;
  const Bytes moments = bytes.optimizer - Bytes(4);  // the sharded parameters are the master copy
  CHECK(states().optimizer == (1e6 + 1e6) * moments);
  sample.plan.fsdp_experts = false;
  CHECK(states().optimizer == (1e6 + 2e6) * moments);
  CHECK(states().gradients == (1e6 + 2e6) * bytes.gradient);
}

// Two experts of three matrices of 1,024 x 512 for all layers, weights and gradients.
TEST_CASE("places of redundant experts are held once for all layers", "[unit]") {
  Sample sample = exchanging_sample(4);
  CHECK(expert_copies_memory(sample.context()) == Bytes{});
  sample.plan.exchange.redundant_experts = 8;
  CHECK(expert_copies_memory(sample.context()) ==
        2.0 * 3.0 * 1024.0 * 512.0 * (Bytes(2) + sample.software.gradient_reduce));
}

// One layer of two, whose gradients come when its backward is through, as those of the embedding
// do.
TEST_CASE("a first layer's backward does not hold its own gradients yet", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.stages[0].layers = 2;
  sample.plan.micro_batches = 1;
  sample.software.memory.gradients_stay = false;
  StageBuilder builder;
  const BuiltStage& stage = builder.stage(sample.context(), 0);
  const StageHolding holding = stage_holding(sample.context(), stage);
  const double layer = stage.layers[0].parameters.total();
  CHECK(holding.first_layers.front().late_gradients == Bytes(4.0 * (layer + 32'000.0 * 1'024)));
  CHECK(holding.gradients == Bytes(4.0 * stage.parameters.all().total()));
}

// Four dense layers before the experts: what is gathered beside the first layer of experts is its
// own and a dense one, beside the first dense layer the embedding, and the gradients of all of
// these are still to come.
TEST_CASE("a first layer with experts lends nothing of the dense layers before it", "[unit]") {
  Sample sample = exchanging_sample(1);
  sample.model.layers = 6;
  sample.model.moe->first_dense_layers = 4;
  sample.plan.stages[0].layers = 6;
  sample.plan.dp = 2;
  sample.plan.fsdp = 2;
  sample.plan.edp = 2;
  sample.plan.zero = 3;
  StageBuilder builder;
  const BuiltStage& stage = builder.stage(sample.context(), 0);
  REQUIRE(stage.layers.size() == 2);
  const std::vector<FirstLayer> first = first_layers(sample.context(), stage);
  const LocalParameters& dense = stage.layers[0].parameters;
  const LocalParameters& experts = stage.layers[1].parameters;
  CHECK(first[0].gathered == Bytes(2.0 * (dense.total() + stage.embedding.total())));
  CHECK(first[1].gathered == Bytes(2.0 * (dense.total() + experts.total())));
  CHECK(first[0].kept == Bytes{});
  CHECK(first[1].kept == 4.0 * total(stage.layers[0].ops->kept));
  const Bytes each = sample.software.states.gradient;
  CHECK(first[1].late_gradients.value() ==
        Approx((0.5 * (4.0 * dense.total() + experts.total() + stage.embedding.total()) * each)
                   .value()));
}

TEST_CASE("experts whose shards lie on other ranks are reduced apart from their layer", "[unit]") {
  Sample sample = exchanging_sample(2);
  sample.plan.dp = 4;
  sample.plan.fsdp = 4;
  sample.plan.edp = 2;
  sample.plan.zero = 3;
  const LocalParameters layer{.dense = 1e6, .expert = 4e6};
  const Bytes on_the_way = Bytes(2) + sample.software.gradient_reduce;
  CHECK(reduced_beside(sample.context(), layer) == 1e6 * on_the_way + 4e6 * Bytes(2));
  CHECK(experts_reduced(sample.context(), layer) == 4e6 * on_the_way);
  sample.plan.ep = 1;  // the same ranks hold shards of both
  sample.plan.edp = 4;
  CHECK(reduced_beside(sample.context(), layer) == 5e6 * on_the_way);
  CHECK(experts_reduced(sample.context(), layer) == Bytes{});
}

TEST_CASE("an optimizer on the host takes nothing of the device", "[unit]") {
  Sample sample = test::dense_sample();
  const StageMemory on_device = memory_by_stage(sample.context()).front();
  sample.software.memory.optimizer_on_host = true;
  const StageMemory on_host = memory_by_stage(sample.context()).front();
  CHECK(on_device.optimizer > Bytes{});
  CHECK(on_host.optimizer == Bytes{});
  CHECK(on_device.total() - on_host.total() == on_device.optimizer);
}

TEST_CASE("a program that scans its layers gathers one and keeps copies of all", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  const StageBudget before = budget_of(sample);
  const Bytes gradients = memory_by_stage(sample.context()).front().gradients;
  sample.software.memory.scans_layers = true;
  sample.software.memory.stacked_copies = Bytes(8);
  const StageBudget after = budget_of(sample);
  CHECK(after.gathered_layers == 0.5 * before.gathered_layers);
  CHECK(after.reduced_layer.value() == nearly(before.reduced_layer.value() * 4 / 6));
  // Gradients of 4 bytes a parameter, and 8 more.
  CHECK(memory_by_stage(sample.context()).front().gradients.value() ==
        nearly(3 * gradients.value()));
}

TEST_CASE("copies of experts are of ranks that hold several", "[unit]") {
  Sample sample = exchanging_sample(4);
  sample.software.memory.scans_layers = true;
  const auto gradients = [&] {
    return stage_holding(sample.context(), StageBuilder().stage(sample.context(), 0)).copies;
  };
  CHECK(gradients() == Bytes{});
  sample.software.memory.stacked_expert_copies = Bytes(5);
  // 8 layers of 4 of the 16 experts, each three matrices of 1,024 x 512.
  CHECK(gradients().value() == nearly(8.0 * 4 * 3 * 1024 * 512 * 5));
  sample.plan.ep = sample.plan.dp = 16;
  CHECK(gradients() == Bytes{});
}

TEST_CASE("gradients that a loop of backward passes makes are not there at the loss", "[unit]") {
  Sample sample = test::dense_sample();
  sample.plan.micro_batches = 1;
  sample.software.memory.logit_at_loss = Bytes(1000);  // the peak
  const StageMemory buffers = memory_by_stage(sample.context()).front();
  sample.software.memory.scans_layers = true;
  const StageMemory loop = memory_by_stage(sample.context()).front();
  CHECK(buffers.moment == "loss");
  CHECK(loop.moment == "loss");
  CHECK(buffers.gradients > Bytes{});
  CHECK(loop.gradients == Bytes{});
}

TEST_CASE("a pool of a share of the device has to hold everything", "[unit]") {
  DeviceSpec device;
  device.name = "round";
  device.hbm.capacity = Bytes(100e9);
  std::vector<StageMemory> stages(1);
  stages[0].parameters = stages[0].reserved = Bytes(88e9);
  stages[0].outside = Bytes(2e9);
  judge_memory(stages, device);
  CHECK(is_sure(stages));
  stages[0].pool_share = 0.93;  // 93 GB, of which 88 are 94.6 %
  judge_memory(stages, device);
  CHECK(is_tight(stages));
  stages[0].parameters = stages[0].reserved = Bytes(120e9);
  judge_memory(stages, device);
  CHECK_FALSE(may_run(stages));
  REQUIRE(memory_reasons(stages, device).size() == 1);
  CHECK_THAT(memory_reasons(stages, device)[0],
             contains_text("of which the framework's pool takes 86.6"));
}

TEST_CASE("torchtitan's last stage keeps logits in sets of before October 2025 alone", "[unit]") {
  const auto set = [](const char* name) {
    return load_named_software(name, test::data_root(), {"test", 1, 1});
  };
  CHECK_FALSE(set("torchtitan").memory.keeps_logits);
  CHECK_FALSE(set("torchtitan_eager").memory.keeps_logits);
  CHECK(set("torchtitan_2025_09").memory.keeps_logits);
  CHECK(set("torchtitan_2024").memory.keeps_logits);
  CHECK(set("torchtitan").date == "2025-12");
  CHECK(set("torchtitan_2025_09").date == "2025-09");
}

}  // namespace stepcast::expert_memory_test
