// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/plan_keys.hpp"

#include <set>
#include <sstream>

#include "catch.hpp"
#include "stepcast/plan/written_input.hpp"
#include "stepcast/sweep/sweep_axes.hpp"

namespace stepcast::sweep_axes_test {
namespace {

// The keys that a reader knows, out of what it says of one that it does not.
template <typename Read>
std::set<std::string> known_keys(const std::string& text, const Read& read) {
  const ConfigNode root = parse_config(text, "test");
  Diagnostics diagnostics;
  read(MappingReader(root, "", diagnostics));
  std::set<std::string> keys;
  for (const Diagnostic& problem : diagnostics.entries()) {
    const std::string start = "known keys: ";
    const std::size_t at = problem.message.find(start);
    if (at == std::string::npos) {
      continue;
    }
    std::istringstream list(problem.message.substr(at + start.size()));
    for (std::string key; list >> key;) {
      keys.insert(key.substr(0, key.find(',')));
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("Every key of plan can be an axis", "[unit]") {
  std::set<std::string> keys =
      known_keys("xxxxxxxxxxxx: 1", [](MappingReader reader) { read_plan(std::move(reader)); });
  for (const std::string& key : known_keys("overlap: {xxxxxxxxxxxx: 1}", [](MappingReader reader) {
         read_plan(std::move(reader));
       })) {
    keys.insert("overlap." + key);
  }
  REQUIRE(keys.contains("overlap.tp"));
  std::set<std::string> members;
  for (const PlanKey& key : plan_keys()) {
    CHECK(key.copy != nullptr);
    CHECK_FALSE(key.meaning.empty());
    members.emplace(key.name);
  }
  CHECK(keys == members);
}

TEST_CASE("Every key of training can be an axis", "[unit]") {
  const std::set<std::string> keys = known_keys(
      "xxxxxxxxxxxxxxx: 1", [](MappingReader reader) { read_training(std::move(reader)); });
  REQUIRE(keys.contains("memory_budget"));
  std::set<std::string> members;
  for (const TrainingKey& key : training_keys()) {
    CHECK(key.copy != nullptr);
    CHECK_FALSE(key.meaning.empty());
    members.emplace(key.name);
  }
  CHECK(keys == members);
}

TEST_CASE("A key inside an adapter is copied, and nothing but it", "[unit]") {
  TrainingRecipe from;
  from.weights.lora = LoraSpec{64, {LoraTarget::kO}, true};
  TrainingRecipe to;
  training_key("lora.rank")->copy(from, to);
  CHECK(to == TrainingRecipe{});
  to.weights.lora = LoraSpec{8, {LoraTarget::kQkv}, false};
  training_key("lora.rank")->copy(from, to);
  CHECK(*to.weights.lora == LoraSpec{64, {LoraTarget::kQkv}, false});
  training_key("lora.targets")->copy(from, to);
  CHECK(*to.weights.lora == LoraSpec{64, {LoraTarget::kO}, false});
  CHECK(numbering_order("training.lora.rank") == numbering_order("training.lora"));
}

TEST_CASE("an axis over a key inside documents changes that key alone", "[unit]") {
  TrainingRecipe from;
  from.documents = {.length = 512, .lengths = DocumentLengths::kGeometric, .packed = false};
  TrainingRecipe to;
  to.documents.length = 2048;
  training_key("documents.length")->copy(from, to);
  CHECK(to.documents == Documents{.length = 512});
  training_key("documents.lengths")->copy(from, to);
  training_key("documents.packed")->copy(from, to);
  CHECK(to.documents == from.documents);
  CHECK(numbering_order("training.documents.length") == numbering_order("training.documents"));
}

TEST_CASE("A member is copied, and nothing but it", "[unit]") {
  PlanRequest from;
  from.tp = 8;
  from.pp = 4;
  PlanRequest to;
  plan_key("tp")->copy(from, to);
  CHECK(to.tp == 8);
  CHECK(to.pp == 1);
  TrainingRecipe recipe;
  recipe.recompute.kind = RecomputeKind::kFull;
  recipe.recompute.layers = 3;
  TrainingRecipe other;
  training_key("recompute_layers")->copy(recipe, other);
  CHECK(other.recompute.layers == 3);
  CHECK(other.recompute.kind == RecomputeKind::kNone);
}

TEST_CASE("Axes are numbered with what changes operators outermost", "[unit]") {
  const std::vector<std::string> outermost_first = {"model",
                                                    "cluster.gpu",
                                                    "plan.dispatcher",
                                                    "training.dtype",
                                                    "plan.overlap",
                                                    "plan.tp",
                                                    "plan.cp",
                                                    "plan.cp_algorithm",
                                                    "plan.zero",
                                                    "plan.pp",
                                                    "plan.stage_layout",
                                                    "plan.vpp",
                                                    "plan.schedule",
                                                    "training.global_batch_size"};
  for (std::size_t i = 1; i < outermost_first.size(); ++i) {
    INFO(outermost_first[i]);
    CHECK(numbering_order(outermost_first[i - 1]) < numbering_order(outermost_first[i]));
  }
}

TEST_CASE("What a plan was given as is what it is read from", "[unit]") {
  for (const char* text :
       {"{tp: 8, pp: 2, vpp: 3, cp: 4, cp_algorithm: all_to_all, sequence_parallel: false}",
        "{ep: 8, etp: 2, zero: 0, fsdp_reshard: true, schedule: zbv, dispatcher: sonic}",
        "{dp: 4, fsdp: 4, hsdp: 2, stage_layout: [1, 2, 3], overlap: {rule: uniform, tp: 0.5}}",
        "{stage_layout: balanced}", "{}"}) {
    const auto read = [](const ConfigNode& node) {
      Diagnostics diagnostics;
      const PlanRequest plan = read_plan(MappingReader(node, "plan", diagnostics));
      diagnostics.throw_if_any();
      return plan;
    };
    const ConfigNode written = written_request(read(parse_config(text, "test")));
    ConfigNode again = written_request(read(written));
    INFO(text);
    REQUIRE(written.entries.size() == again.entries.size());
    for (std::size_t i = 0; i < written.entries.size(); ++i) {
      CHECK(written.entries[i].key == again.entries[i].key);
      CHECK(written.entries[i].value.text == again.entries[i].value.text);
    }
    for (const ConfigEntry& entry : parse_config(text, "test").entries) {
      REQUIRE(written.find(entry.key) != nullptr);
      CHECK(written.find(entry.key)->text == entry.value.text);
    }
  }
}

}  // namespace stepcast::sweep_axes_test
