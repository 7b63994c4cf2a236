// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/stage_layout.hpp"

#include <numeric>

#include "catch.hpp"

namespace stepcast::stage_layout_test {
namespace {

using test::contains_text;

std::vector<std::int64_t> layers_of(const LayoutResult& result) {
  std::vector<std::int64_t> layers;
  for (const StageContent& stage : result.stages) {
    layers.push_back(stage.layers);
  }
  return layers;
}

std::string fault_of(const std::string& text) {
  const LayoutResult result = parse_layout(text);
  return result.reasons.empty() ? "" : result.reasons.front().text();
}

PlanRequest request(std::int64_t pp, std::string layout = {}) {
  PlanRequest plan;
  plan.pp = pp;
  plan.layout = std::move(layout);
  return plan;
}

TEST_CASE("Megatron's layout text expands repeats and groups", "[unit]") {
  const LayoutResult result = parse_layout("Et*4|t*5|(t*6|)*5,t*4mL");
  REQUIRE(result.reasons.empty());
  CHECK(layers_of(result) == std::vector<std::int64_t>{4, 5, 6, 6, 6, 6, 6, 4});
  CHECK(result.stages.front() == StageContent{4, 0, true, false});
  CHECK(result.stages[3] == StageContent{6, 0, false, false});
  CHECK(result.stages.back() == StageContent{4, 1, false, true});
}

TEST_CASE("commas and spaces between elements mean nothing, and stages may be empty", "[unit]") {
  CHECK(parse_layout("E,t*2, t|t*3L").stages == parse_layout("Ettt|tttL").stages);
  CHECK(layers_of(parse_layout("E||tL")) == std::vector<std::int64_t>{0, 0, 1});
  CHECK(layers_of(parse_layout("((t|)*2t)*2")) == std::vector<std::int64_t>{1, 1, 2, 1, 1});
}

TEST_CASE("a faulty layout text says what is wrong with it", "[unit]") {
  CHECK_THAT(fault_of("E(t|t"), contains_text("a '(' has no ')'"));
  CHECK_THAT(fault_of("Et)L"), contains_text("a ')' has no '('"));
  CHECK_THAT(fault_of("Ex|L"), contains_text("'x' is none of E, t, m, L"));
  CHECK_THAT(fault_of("Et*|L"), contains_text("'*' needs a whole number"));
  CHECK_THAT(fault_of("Et*0L"), contains_text("'*' needs a whole number"));
  CHECK_THAT(fault_of("Et*-1L"), contains_text("'*' needs a whole number"));
  CHECK_THAT(fault_of(std::string(17, '(')), contains_text("groups nest deeper than 16"));
  CHECK(fault_of(std::string(16, '(') + "t" + std::string(16, ')')).empty());
}

TEST_CASE("a layout text never expands to more than 100,000 layers", "[unit]") {
  for (const char* text : {"t*100001", "(t*1000)*1000", "((((t*9)*9999)*9999)*9999)*9999",
                           "t*99999999999999999999999", "(t*60000)t*60000"}) {
    CAPTURE(text);
    CHECK_FALSE(fault_of(text).empty());
  }
  CHECK(parse_layout("t*100000").stages.front().layers == 100'000);
}

// times * letters is 2^64, which wraps to 0. Hidden: until it is fixed it takes all memory.
TEST_CASE("a repeat count whose product overflows is refused as well", "[unit]") {
  CHECK_THAT(fault_of("(tt)*9223372036854775808"), contains_text("more than 100,000"));
}

TEST_CASE("without a layout every stage has the same number of layers", "[unit]") {
  const LayoutResult result = stage_layout(request(4), 2, 32, 1);
  REQUIRE(result.reasons.empty());
  CHECK(layers_of(result) == std::vector<std::int64_t>(8, 4));
  CHECK(result.stages.front().embedding);
  CHECK(result.stages.back().loss);
  CHECK(result.stages.back().mtp_layers == 1);
}

// Llama 3.1 405B: 126 layers, embedding and loss fill 16 stages of 8.
TEST_CASE("a balanced layout counts embedding and loss as a layer each", "[unit]") {
  const LayoutResult result = stage_layout(request(16, "balanced"), 1, 126, 0);
  REQUIRE(result.reasons.empty());
  std::vector<std::int64_t> expected(16, 8);
  expected.front() = 7;
  expected.back() = 7;
  CHECK(layers_of(result) == expected);
}

TEST_CASE("a balanced layout keeps every layer and differs by at most one slot", "[property]") {
  for (std::int64_t pp = 1; pp <= 9; ++pp) {
    for (std::int64_t layers = pp; layers <= 61; ++layers) {
      const std::vector<std::int64_t> found =
          layers_of(stage_layout(request(pp, "balanced"), 1, layers, 0));
      CAPTURE(pp, layers);
      REQUIRE(std::accumulate(found.begin(), found.end(), std::int64_t{0}) == layers);
      std::vector<std::int64_t> slots = found;
      if (pp > 1 && layers % pp != 0) {
        ++slots.front();
        ++slots.back();
      }
      const auto [least, most] = std::minmax_element(slots.begin(), slots.end());
      // An end may hold its own slot and no layer; otherwise slots differ by one at most.
      REQUIRE(*most - *least <= 1);
    }
  }
}

TEST_CASE("a list of layers must have one entry a stage and all layers", "[unit]") {
  PlanRequest plan = request(3);
  plan.stage_layers = {4, 4, 3};
  CHECK(layers_of(stage_layout(plan, 1, 11, 0)) == plan.stage_layers);
  const LayoutResult wrong = stage_layout(plan, 2, 12, 0);
  REQUIRE(wrong.reasons.size() == 2);  // both at once
  CHECK_THAT(wrong.reasons[0].text(), contains_text("3 stages, not 6"));
  CHECK_THAT(wrong.reasons[1].text(), contains_text("11 layers, not 12"));
}

TEST_CASE("a layout text must begin with the embedding and end with the loss", "[unit]") {
  CHECK(stage_layout(request(2, "Et|tL"), 1, 2, 0).reasons.empty());
  CHECK_FALSE(stage_layout(request(2, "t|EtL"), 1, 2, 0).reasons.empty());
  CHECK_FALSE(stage_layout(request(2, "Et|t"), 1, 2, 0).reasons.empty());
  CHECK_FALSE(stage_layout(request(2, "Et|tL"), 1, 2, 1).reasons.empty());  // where is the m?
}

TEST_CASE("a pipeline larger than the model is refused and not built", "[unit]") {
  constexpr std::int64_t kHuge = 1 << 20;
  CHECK_FALSE(stage_layout(request(kHuge), kHuge, 61, 0).reasons.empty());
  CHECK_FALSE(stage_layout(request(kHuge, "balanced"), kHuge, 61, 0).reasons.empty());
}

TEST_CASE("Layers that do not divide are balanced unless even stages are asked for", "[unit]") {
  CHECK(layers_of(stage_layout(request(4), 1, 8, 0)) == std::vector<std::int64_t>{2, 2, 2, 2});
  CHECK(layers_of(stage_layout(request(4), 1, 10, 0)) ==
        layers_of(stage_layout(request(4, "balanced"), 1, 10, 0)));
  CHECK_THAT(stage_layout(request(4, "even"), 1, 10, 0).reasons.at(0).text(),
             contains_text("10 layers do not divide"));
}

}  // namespace
}  // namespace stepcast::stage_layout_test
