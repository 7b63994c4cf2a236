// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/request_members.hpp"

#include <set>
#include <sstream>

#include "catch.hpp"

namespace stepcast::request_members_test {
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
  for (const PlanMember& member : plan_members()) {
    members.emplace(member.key);
  }
  CHECK(keys == members);
}

TEST_CASE("Every key of training can be an axis", "[unit]") {
  const std::set<std::string> keys = known_keys(
      "xxxxxxxxxxxxxxx: 1", [](MappingReader reader) { read_training(std::move(reader)); });
  REQUIRE(keys.contains("memory_budget"));
  std::set<std::string> members;
  for (const TrainingMember& member : training_members()) {
    members.emplace(member.key);
  }
  CHECK(keys == members);
}

TEST_CASE("A member is copied, and nothing but it", "[unit]") {
  PlanRequest from;
  from.tp = 8;
  from.pp = 4;
  PlanRequest to;
  plan_member("tp")->copy(from, to);
  CHECK(to.tp == 8);
  CHECK(to.pp == 1);
  TrainingRecipe recipe;
  recipe.recompute.kind = RecomputeKind::kFull;
  recipe.recompute.layers = 3;
  TrainingRecipe other;
  training_member("recompute_layers")->copy(recipe, other);
  CHECK(other.recompute.layers == 3);
  CHECK(other.recompute.kind == RecomputeKind::kNone);
}

}  // namespace stepcast::request_members_test
