// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/training_recipe.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

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

}  // namespace
}  // namespace stepcast::training_recipe_test
