// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/training_recipe.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/plan/written_input.hpp"

namespace stepcast::training_recipe_test {
namespace {

using test::config_error;
using test::contains_text;

TrainingRecipe recipe(const std::string& recompute) {
  const ConfigNode root =
      parse_config("{sequence_length: 4096, global_batch_size: 8, " + recompute + "}", "a.yaml");
  Diagnostics diagnostics;
  TrainingRecipe training = read_training(MappingReader(root, "training", diagnostics));
  diagnostics.throw_if_any();
  return training;
}

std::string problems(const std::string& recompute) {
  return config_error([&] { recipe(recompute); });
}

TEST_CASE("recompute_layers is a count or a list of layers", "[unit]") {
  const RecomputeSpec block =
      recipe("recompute: full, recompute_method: block, recompute_layers: 3").recompute;
  CHECK(block.layers == 3);
  CHECK(block.layer_list.empty());
  const RecomputeSpec list = recipe("recompute: full, recompute_layers: [4, 0, 4]").recompute;
  CHECK(list.layer_list == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("a memory budget is read with its kind", "[unit]") {
  const RecomputeSpec budget = recipe("recompute: memory_budget, memory_budget: 0.5").recompute;
  CHECK(budget.kind == RecomputeKind::kBudget);
  CHECK(budget.budget == 0.5);
  CHECK(recipe("recompute: selective_op").recompute.kind == RecomputeKind::kOperators);
}

TEST_CASE("documents are a length, how lengths vary, and whether they are packed", "[unit]") {
  CHECK(recipe("recompute: none").documents == Documents{});
  CHECK(recipe("documents: {length: 500}").documents ==
        Documents{500, DocumentLengths::kFixed, true});
  CHECK(recipe("documents: {length: 500, lengths: geometric, packed: false}").documents ==
        Documents{500, DocumentLengths::kGeometric, false});
  CHECK_THAT(problems("documents: {lengths: fixed}"), contains_text("length"));
  CHECK_THAT(problems("documents: {length: 500, mean: 3}"), contains_text("unknown key 'mean'"));
}

TEST_CASE("unequal work and a collector of garbage are off until they are stated", "[unit]") {
  CHECK(recipe("dtype: bf16").work_spread == 0.0);
  CHECK_FALSE(recipe("dtype: bf16").garbage_collection.has_value());
  CHECK(recipe("work_spread: 0.2").work_spread == 0.2);
  CHECK(recipe("garbage_collection: {pause: 200 ms, steps: 300}").garbage_collection ==
        GarbageCollection{Seconds(0.2), 300.0});
  CHECK_THAT(problems("garbage_collection: {pause: 200 ms}"), contains_text("steps"));
  CHECK_THAT(problems("garbage_collection: {pause: 200, steps: 3}"), contains_text("no unit"));
  CHECK_THAT(problems("work_spread: -1"), contains_text("work_spread"));
}

TEST_CASE("Megatron's module names are known", "[unit]") {
  const RecomputeSpec modules =
      recipe(
          "recompute: selective, recompute_modules: [core_attn, layernorm, mlp, moe, moe_act, "
          "mla_up_proj, shared_experts]")
          .recompute;
  CHECK(modules.modules.size() == 7);
  CHECK(modules.recomputes(RecomputeModule::kMoeActivation));
  CHECK_FALSE(modules.recomputes(RecomputeModule::kMlpActivation));
}

TEST_CASE("keys of recomputation that contradict each other are errors", "[unit]") {
  CHECK_THAT(problems("recompute: full, memory_budget: 0.5"), contains_text("go together"));
  CHECK_THAT(problems("recompute: memory_budget"), contains_text("go together"));
  CHECK_THAT(problems("recompute: full, recompute_layers: []"), contains_text("must name a layer"));
  CHECK_THAT(problems("recompute: none, recompute_layers: [1]"), contains_text("must be full"));
  CHECK_THAT(problems("recompute: full, recompute_method: block, recompute_layers: [1]"),
             contains_text("must be left out"));
}

TEST_CASE("Adapters and frozen parts are read, each once and in order", "[unit]") {
  CHECK(recipe("dtype: bf16").weights.whole_model());
  const TrainedWeights lora =
      recipe("lora: {rank: 16, targets: [o, qkv, o], dropout: true}").weights;
  CHECK(*lora.lora == LoraSpec{16, {LoraTarget::kQkv, LoraTarget::kO}, true});
  CHECK_FALSE(lora.trains(ParameterRole::kNorm));
  const TrainedWeights norms =
      recipe("lora: {rank: 4, targets: [down]}, frozen: [mlp, embedding, head, attention]").weights;
  CHECK(norms.trains(ParameterRole::kNorm));
  CHECK_FALSE(norms.trains(ParameterRole::kMlp));
  CHECK(recipe("frozen: [embedding]").weights.trains(ParameterRole::kHead));
  CHECK(recipe("lora: {rank: 4, targets: [o]}, frozen: all").weights.frozen->size() == 7);
}

TEST_CASE("Adapters stand beside q and v unless their targets are given", "[unit]") {
  CHECK(recipe("lora: {rank: 4}").weights.lora->targets ==
        std::vector<LoraTarget>{LoraTarget::kQ, LoraTarget::kV});
}

TEST_CASE("Matrices are known by the names of checkpoints and of Megatron", "[unit]") {
  CHECK(recipe("lora: {rank: 4, targets: [q_proj, v_proj, down_proj]}").weights.lora->targets ==
        std::vector<LoraTarget>{LoraTarget::kQ, LoraTarget::kV, LoraTarget::kDown});
  CHECK(recipe("lora: {rank: 4, targets: [linear_fc1, linear_qkv]}").weights.lora->targets ==
        std::vector<LoraTarget>{LoraTarget::kQkv, LoraTarget::kGateUp});
  CHECK_THAT(problems("lora: {rank: 4, targets: [w_proj]}"), contains_text("'w_proj'"));
}

TEST_CASE("Every problem of an adapter is named, with its place", "[unit]") {
  const std::string text =
      problems("lora: {rank: 0, targets: [qkv, v, x], alpha: 32}, frozen: [biases]");
  CHECK_THAT(text, contains_text("'training.lora.rank'"));
  CHECK_THAT(text, contains_text("names qkv and v, which is a part of it"));
  CHECK_THAT(text, contains_text("'x'"));
  CHECK_THAT(text, contains_text("unknown key 'alpha'"));
  CHECK_THAT(text, contains_text("'biases'"));
  CHECK_THAT(problems("lora: {rank: 4, targets: o}"), contains_text("must be a list"));
  CHECK_THAT(problems("frozen: 3"), contains_text("must be a list; write all"));
}

TEST_CASE("A recipe with adapters is written as it is read", "[unit]") {
  for (const std::string keys :
       {"lora: {rank: 16, targets: [qkv, o], dropout: true}",
        "lora: {rank: 2, targets: [up]}, frozen: [mlp]", "frozen: [head]",
        "lora: {rank: 2, targets: [up], base_weights: nf4_double}", "offload: {parameters: true}",
        "offload: {activations: true}", "offload: {activations: {overlap: false}}",
        "offload: {parameters: true, activations: {layers: 8}}", "work_spread: 0.25",
        "garbage_collection: {pause: 150 ms, steps: 250}"}) {
    const TrainingRecipe training = recipe(keys);
    Diagnostics diagnostics;
    const ConfigNode written = written_training(training);
    CHECK(read_training(MappingReader(written, "training", diagnostics)) == training);
    diagnostics.throw_if_any();
  }
}

TEST_CASE("What goes to the host is read, layers of activations too", "[unit]") {
  CHECK_FALSE(recipe("dtype: bf16").offload.any());
  CHECK(recipe("offload: {parameters: true}").offload == HostOffload{true, false});
  CHECK(recipe("offload: {activations: {layers: 40}}").offload == HostOffload{false, true, 40});
  CHECK_THAT(problems("offload: {activations: {layers: 0}}"), contains_text("layers"));
  CHECK_THAT(problems("offload: {activation: true}"), contains_text("did you mean 'activations'"));
}

TEST_CASE("Packed weights are made 16 bits, and no fewer", "[unit]") {
  CHECK(recipe("lora: {rank: 4, base_weights: int8}").weights.lora->base == BaseWeights::kInt8);
  CHECK_THAT(problems("lora: {rank: 4, base_weights: int4}"), contains_text("did you mean 'int8'"));
  CHECK_THAT(problems("dtype: fp8, lora: {rank: 4, base_weights: nf4}"),
             contains_text("must be of 16 bits"));
}

}  // namespace
}  // namespace stepcast::training_recipe_test
