// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/sum.hpp"

#include <map>
#include <string>

#include "catch.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast::each_of_test {
namespace {

struct Stage {
  std::string name;
  int layers = 0;

  [[nodiscard]] int twice() const { return 2 * layers; }
};

const std::vector<Stage> kStages = {{"first", 3}, {"last", 4}};

TEST_CASE("a list is made of members, of what functions say, and of maps", "[unit]") {
  CHECK(each_of(kStages, &Stage::name) == std::vector<std::string>{"first", "last"});
  CHECK(each_of(kStages, &Stage::twice) == std::vector<int>{6, 8});
  CHECK(each_of(std::map<int, int>{{1, 2}}, [](const auto& entry) { return entry.second; }) ==
        std::vector<int>{2});
  CHECK(each_of(std::vector<Stage>{}, &Stage::layers).empty());
}

TEST_CASE("a sum is that of what each entry is made to, of none nothing", "[unit]") {
  CHECK(sum_over(kStages, &Stage::layers) == 7);
  CHECK(sum_over(std::vector<Stage>{}, &Stage::layers) == 0);
}

TEST_CASE("texts stand one behind the other with something between them", "[unit]") {
  CHECK(text_list(std::vector<std::string>{"a", "b"}) == "a, b");
  CHECK(text_list(kStages, " and ", &Stage::name) == "first and last");
  CHECK(text_list(kStages, "", [](const Stage& stage) { return stage.name + "\n"; }) ==
        "first\nlast\n");
  CHECK(text_list(std::vector<std::string>{}).empty());
}

}  // namespace
}  // namespace stepcast::each_of_test
