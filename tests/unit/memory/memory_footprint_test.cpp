// SPDX-License-Identifier: Apache-2.0
#include "stepcast/memory/memory_footprint.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/layer/activation_inventory.hpp"
#include "stepcast/memory/stage_holding.hpp"
#include "stepcast/settle/settle_plan.hpp"

namespace stepcast::memory_footprint_test {
namespace {

using test::contains_text;
using test::nearly;
using test::Sample;

constexpr double kGi = 1024.0 * 1024.0 * 1024.0;

// Bytes a parameter under ZeRO stage `zero` on `replicas` ranks, with the paper's 2 + 2 + 12.
double bytes_a_parameter(std::int64_t zero, std::int64_t replicas, bool expert = false) {
  ParallelPlan plan;
  plan.dp = replicas;
  plan.edp = replicas;
  plan.zero = zero;
  plan.fsdp = zero == 3 ? replicas : 1;
  SoftwareSpec software;
  software.states.gradient = Bytes(2);
  software.fsdp_parameters_fp32 = false;
  const LocalParameters parameters = expert ? LocalParameters{0.0, 1e9} : LocalParameters{1e9, 0.0};
  const StateMemory memory = state_memory(parameters, plan, software);
  return (memory.parameters + memory.gradients + memory.optimizer).value() / 1e9;
}

// Rajbhandari et al., arXiv 1910.02054, figure 1: 2 bytes of parameters, 2 of gradients, K = 12.
TEST_CASE("bytes a parameter follow the ZeRO table", "[case]") {
  for (const std::int64_t ranks : {1, 2, 8, 64, 1024}) {
    const auto n = static_cast<double>(ranks);
    CAPTURE(ranks);
    for (const bool expert : {false, true}) {
      CHECK(bytes_a_parameter(0, ranks, expert) == nearly(16.0));
      CHECK(bytes_a_parameter(1, ranks, expert) == nearly(4.0 + 12.0 / n));
      CHECK(bytes_a_parameter(2, ranks, expert) == nearly(2.0 + 14.0 / n));
      CHECK(bytes_a_parameter(3, ranks, expert) == nearly(16.0 / n));
    }
  }
}

TEST_CASE("a sharded fp32 parameter is its own master copy", "[unit]") {
  ParallelPlan plan;
  plan.dp = 8;
  plan.fsdp = 8;
  plan.zero = 3;
  const StateMemory memory = state_memory({8e9, 0.0}, plan, SoftwareSpec{});
  CHECK(memory.parameters == Bytes(4e9));  // 4 bytes / 8 ranks
  CHECK(memory.gradients == Bytes(4e9));
  CHECK(memory.optimizer == Bytes(8e9));  // two moments
}

// 1024 tokens, 32,000 logits each.
TEST_CASE("a loss over a divided vocabulary holds at least what its written-out form does",
          "[unit]") {
  Sample sample = test::dense_sample();
  sample.software.memory.logit_at_parallel_loss = Bytes(10);
  const auto loss = [&] {
    return stage_budget(sample.context(), StageBuilder().stage(sample.context(), 0)).loss;
  };
  const Bytes input(2.0 * 1024.0 * 1024.0 * 2.0);
  CHECK(loss() == Bytes(1024.0 * 32'000.0 * 2.0) + input);
  sample.plan.tp = 2;
  CHECK(loss() == Bytes(1024.0 * 16'000.0 * 10.0) + input);
  sample.software.memory.logit_at_eager_parallel_loss = Bytes(16);
  CHECK(loss() == Bytes(1024.0 * 16'000.0 * 10.0) + input);  // of compiled ones
  sample.software.cross_entropy = Implementation::kEager;
  CHECK(loss() == Bytes(1024.0 * 16'000.0 * 16.0) + input);
}

// 1024 tokens, 32,000 logits each.
TEST_CASE("a fused loss writes gradients over logits, others hold fp32 beside them", "[unit]") {
  Sample sample = test::dense_sample();
  const Bytes input(2.0 * 1024.0 * 1024.0 * 2.0);
  for (const auto& [loss, bytes] :
       {std::pair{Implementation::kFused, 2.0}, std::pair{Implementation::kCompiled, 4.0},
        std::pair{Implementation::kEager, 12.0}}) {
    sample.software.cross_entropy = loss;
    CHECK(stage_budget(sample.context(), StageBuilder().stage(sample.context(), 0)).loss ==
          Bytes(1024.0 * 32'000.0 * bytes) + input);
  }
}

TEST_CASE("hybrid sharding divides by the shard group only", "[unit]") {
  ParallelPlan plan;
  plan.dp = 64;
  plan.fsdp = 8;
  plan.zero = 3;
  SoftwareSpec software;
  software.fsdp_parameters_fp32 = false;
  CHECK(state_memory({8e9, 0.0}, plan, software).parameters == Bytes(2e9));
}

TEST_CASE("1F1B holds p - rank micro-batches", "[case]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 8;
  const std::vector<StageMemory> stages = memory_by_stage(sample.context());
  REQUIRE(stages.size() == 4);
  const Bytes two_layers = 2.0 * total(saved_tensors(sample.context(), {}));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(stages[rank].in_flight == static_cast<double>(4 - rank));
  }
  CHECK(stages[0].activations == 4.0 * two_layers);
  CHECK(stages[1].activations == 3.0 * two_layers);
}

TEST_CASE("fewer micro-batches than ranks hold no more than there are", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 2;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 2.0);
}

// Rank 0 of p with v chunks holds 2 (p - 1) + (v - 1) p + 1 chunks of 1/v each.
TEST_CASE("the interleaved schedule holds (2 (p-1) + (v-1) p + 1) / v micro-batches", "[case]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 2);
  sample.plan.micro_batches = 16;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 11.0 / 2.0);
}

TEST_CASE("passes in pairs hold the activations of a layer more", "[case]") {
  Sample sample = test::moe_sample();
  test::set_pipeline(sample, 4, 2);
  sample.plan.ep = 2;
  sample.plan.micro_batches = 16;
  const StageMemory alone = memory_by_stage(sample.context())[0];
  sample.software.ep_overlap = true;
  const StageMemory paired = memory_by_stage(sample.context())[0];
  CHECK(paired.in_flight == 11.0 / 2.0);
  CHECK(alone.in_flight == 11.0 / 2.0);
  CHECK((paired.activations - alone.activations).value() ==
        nearly(total(saved_tensors(sample.context(), {.moe = true})).value()));
}

TEST_CASE("the embedding sits on the first rank and the loss on the last", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  const std::vector<StageMemory> stages = memory_by_stage(sample.context());
  const double matrix = 32'000.0 * 1024.0;  // V H
  CHECK((stages[0].parameters - stages[1].parameters) == Bytes(2 * matrix));
  CHECK((stages[3].parameters - stages[1].parameters) == Bytes(2 * (matrix + 1024)));  // and a norm
}

TEST_CASE("more recomputation never needs more memory", "[property]") {
  Sample sample = test::dense_sample();
  const std::int64_t layers = GENERATE(2, 4, 8);
  sample.model.layers = layers;
  test::set_pipeline(sample, 2, 1);
  for (const AttentionKernel kernel : {AttentionKernel::kUnfused, AttentionKernel::kFlash2}) {
    sample.software.attention = kernel;
    const auto needed = [&](RecomputeKind kind, double budget = 1.0) {
      sample.training.recompute.kind = kind;
      sample.training.recompute.budget = budget;
      return memory_by_stage(sample.context())[0].total();
    };
    const Bytes none = needed(RecomputeKind::kNone);
    const Bytes full = needed(RecomputeKind::kFull);
    CHECK(needed(RecomputeKind::kSelective) <= none);
    CHECK(needed(RecomputeKind::kOperators) <= none);
    CHECK(full <= needed(RecomputeKind::kSelective));
    CHECK(full <= needed(RecomputeKind::kOperators));
    Bytes before = none;
    for (const double budget : {1.0, 0.8, 0.6, 0.4, 0.2, 0.0}) {
      const Bytes now = needed(RecomputeKind::kBudget, budget);
      CHECK(now <= before);
      before = now;
    }
    CHECK(full <= before);
  }
}

// Megatron, arXiv 2205.05198, figure 1: parameters and optimizer states of a GPU, without the
// embedding. 18 bytes a parameter; 12 h^2 parameters a layer, of which 1/8 on a rank.
TEST_CASE("Megatron's states take 18 bytes a parameter", "[case]") {
  const SoftwareSpec software = load_named_software("megatron_2021", test::data_root(), {});
  struct Row {
    double hidden;
    double layers;
    double gib;
  };
  for (const Row& row :
       {Row{6144, 48, 45.56}, Row{12288, 12, 45.56}, Row{20480, 3, 31.64}, Row{25600, 2, 32.96}}) {
    const double elements = 12.0 * row.hidden * row.hidden * row.layers / 8.0;
    const StateMemory memory = state_memory({elements, 0.0}, ParallelPlan{}, software);
    const Bytes all = memory.parameters + memory.gradients + memory.optimizer;
    CHECK(all.value() / kGi == Approx(row.gib).epsilon(0.001));
  }
}

// The same figure: activations of GPT-3 175B, tp 8, pp 8, 3 virtual stages, without recomputation
// and without sequence parallelism. 31 chunks of 4 layers: 2 (8-1) + (3-1) 8 + 1.
TEST_CASE("Megatron's activations of 175B are 66.84 GiB on the first rank", "[case]") {
  Sample sample = test::dense_sample();
  sample.model.hidden = 12288;
  sample.model.layers = 96;
  sample.model.attention.heads = 96;
  sample.model.attention.kv_heads = 96;
  sample.model.attention.qk_head_dim = 128;
  sample.model.attention.v_head_dim = 128;
  sample.model.mlp.ffn_hidden = 4 * 12288;
  sample.model.mlp.gated = false;
  sample.training.sequence_length = 2048;
  sample.training.micro_batch_size = 1;
  sample.training.dropout = true;
  sample.software = load_named_software("megatron_2021", test::data_root(), {});
  sample.plan.tp = 8;
  sample.plan.micro_batches = 64;
  test::set_pipeline(sample, 8, 3);
  const StageMemory first = memory_by_stage(sample.context()).front();
  CHECK(first.in_flight == nearly(31.0 / 3.0));
  CHECK(first.activations.value() / kGi == Approx(66.84).epsilon(0.001));
}

// Llama 3 8B, 4 layers, in bf16 on one GPU, T = 8192: 6 bytes a parameter (no gradients yet), 17 U
// and 32 log-sum-exps a layer, logits and their gradient, input and gradient of the head; U = 2 T
// h.
TEST_CASE("a bf16 step peaks at the loss, as its parts add up", "[case]") {
  Sample sample = test::dense_sample();
  sample.model = test::shipped_model("llama3.1_8b");
  sample.model.layers = 4;
  sample.training.sequence_length = 8192;
  sample.training.micro_batch_size = 1;
  sample.software = load_named_software("pytorch_bf16", test::data_root(), {});
  sample.plan.stages = {{.layers = 4, .embedding = true, .loss = true}};
  sample.plan.micro_batches = 1;
  const double u = 2.0 * 8192 * 4096;
  CHECK(total(saved_tensors(sample.context(), {})) == Bytes(17 * u + 4.0 * 8192 * 32));
  const StageMemory memory = memory_by_stage(sample.context()).front();
  CHECK(memory.moment == "loss");
  CHECK(memory.gradients == Bytes{});
  CHECK(memory.loss == Bytes(4.0 * 8192 * 128'256 + 2 * u));
  const double parameters =
      4 * (2.5 * 4096 * 4096 + 3.0 * 4096 * 14'336 + 2 * 4096) + 2.0 * 128'256 * 4096 + 4096;
  CHECK((memory.parameters + memory.optimizer).value() == nearly(6.0 * parameters));
  CHECK(memory.total().value() == Approx(20'517'177'344.0).epsilon(0.02));  // measured on H200
}

// PyTorch's pipelining: U for every micro-batch and side that receives; the last stage keeps
// logits.
TEST_CASE("a PyTorch pipeline receives ahead and its last stage keeps all logits", "[case]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 16;
  sample.software.memory.receives_ahead = true;
  sample.software.memory.keeps_logits = true;
  const std::vector<StageMemory> stages = memory_by_stage(sample.context());
  const Bytes u = layer_input(sample.context());
  CHECK(stages[0].received == 16.0 * u);
  CHECK(stages[1].received == 32.0 * u);
  CHECK(stages[3].received == 16.0 * u);
  CHECK(stages[3].moment == "optimizer");
  CHECK(stages[3].loss == Bytes(2.0 * 16 * 1024 * 32'000 * 2));  // 2 m T V 2
}

TEST_CASE("chunks of the loss divide its logits", "[unit]") {
  Sample sample = test::dense_sample();
  const auto loss = [&](std::int64_t chunks) {
    sample.software.memory.loss_chunks = chunks;
    return stage_budget(sample.context(), StageBuilder().stage(sample.context(), 0)).loss;
  };
  const double logits = 1024.0 * 32'000 * 2;
  CHECK(loss(1) - loss(8) == Bytes(logits * 7 / 8));
}

TEST_CASE("pools of other streams add to what is reserved", "[unit]") {
  Sample sample = test::dense_sample();
  const StageMemory alone = memory_by_stage(sample.context()).front();
  CHECK(alone.reserved.value() == nearly(1.05 * alone.total().value()));
  sample.plan.dp = 8;
  sample.plan.fsdp = 8;
  sample.plan.zero = 3;
  sample.plan.micro_batches = 1;
  sample.software.memory.gradients_stay = false;
  const StageMemory sharded = memory_by_stage(sample.context()).front();
  CHECK(sharded.reserved > 1.05 * sharded.total());
}

TEST_CASE("doubling the nodes never raises the memory of a GPU", "[property]") {
  const std::string name = GENERATE("megatron", "torchtitan", "nanotron", "pytorch_compiled");
  const std::int64_t zero = GENERATE(0, 1, 3);
  const std::int64_t pp = GENERATE(1, 2);
  SoftwareSpec software = load_named_software(name, test::data_root(), {});
  // torchtitan trains a plan without FSDP in fp32, which is refused.
  software.mixed_precision = MixedPrecision::kAlways;
  const ModelSpec model = test::shipped_model("llama3.1_8b");
  TrainingRecipe training;
  training.sequence_length = 4096;
  training.global_batch_size = 512;
  PlanRequest request;
  request.given = true;
  request.tp = 4;
  request.pp = pp;
  request.zero = zero;
  Bytes before(1e30);
  for (std::int64_t nodes = 1; nodes <= 32; nodes *= 2) {
    ClusterSpec cluster = cluster_of(test::shipped_gpu("h100_sxm"), nodes);
    const ResolvedPlan resolved = resolve_plan(request, model, training, cluster, software);
    REQUIRE(resolved.reasons.empty());
    Bytes most;
    for (const StageMemory& stage : memory_by_stage({model, resolved.plan, training, software})) {
      most = max(most, stage.total());
    }
    CAPTURE(name, zero, pp, nodes);
    CHECK(most <= before);
    before = most;
  }
}

TEST_CASE("more data-parallel ranks never raise the memory of a rank", "[property]") {
  for (std::int64_t zero = 0; zero <= 3; ++zero) {
    double before = 1e300;
    for (std::int64_t ranks = 1; ranks <= 64; ranks *= 2) {
      const double now = bytes_a_parameter(zero, ranks);
      CAPTURE(zero, ranks);
      CHECK(now <= before);
      before = now;
    }
  }
}

TEST_CASE("the verdict follows from the odds of running and what is asked of them", "[unit]") {
  DeviceSpec device;
  device.hbm.capacity = Bytes(100e9);
  std::vector<StageMemory> stages(4);
  stages[0].parameters = stages[0].reserved = Bytes(91e9);   // 95.9 %
  stages[1].parameters = stages[1].reserved = Bytes(93e9);   // 94.1 %
  stages[2].parameters = stages[2].reserved = Bytes(120e9);  // 22.0 %
  stages[3].parameters = stages[3].reserved = Bytes(122e9);  // 18.2 %
  judge_memory(stages, device);
  CHECK(stages[0].verdict == MemoryVerdict::kFits);
  CHECK(stages[1].verdict == MemoryVerdict::kTight);
  CHECK(stages[2].verdict == MemoryVerdict::kTight);
  CHECK(stages[3].verdict == MemoryVerdict::kDoesNotFit);
  CHECK(odds_on(stages) == stages[3].odds);

  device.hbm.sure = 0.99;
  judge_memory(stages, device);
  CHECK(stages[0].verdict == MemoryVerdict::kTight);
  device.hbm.sure = 0.1;  // below what is hopeless otherwise
  judge_memory(stages, device);
  CHECK(is_sure(stages));
}

TEST_CASE("a rank that does not fit says what it needs and what there is", "[unit]") {
  constexpr Bytes kOutside{2.0 * kGi};
  DeviceSpec device;
  device.name = "small";
  device.hbm.capacity = Bytes(80.0 * kGi);
  StageMemory fits;
  fits.parameters = fits.reserved = Bytes(40.0 * kGi);
  fits.outside = kOutside;
  StageMemory over = fits;
  over.rank = 3;
  over.parameters = over.reserved = Bytes(98.0 * kGi);
  std::vector<StageMemory> stages = {fits, over};
  judge_memory(stages, device);
  const std::vector<std::string> reasons = memory_reasons(stages, device);
  REQUIRE(reasons.size() == 1);
  CHECK_THAT(reasons[0], contains_text("pipeline rank 3 needs 98.00 GiB") &&
                             contains_text("small has 80.00 GiB"));
}

TEST_CASE("split backwards hold activations until the gradient of the weights", "[unit]") {
  Sample sample = test::dense_sample();
  test::set_pipeline(sample, 4, 1);
  sample.plan.micro_batches = 8;
  sample.plan.schedule = Schedule::kZbH1;
  for (const StageMemory& stage : memory_by_stage(sample.context())) {
    CHECK(stage.in_flight == 4.0);  // p on every rank; 1F1B has 4, 3, 2, 1
  }
  sample.plan.schedule = Schedule::kDualPipe;
  CHECK(memory_by_stage(sample.context())[0].in_flight == 5.0);  // p + 1
}

}  // namespace
}  // namespace stepcast::memory_footprint_test
