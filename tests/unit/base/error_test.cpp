// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/error.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::error_test {
namespace {

using test::contains_text;

TEST_CASE("a diagnostic reads file:line:column: error: message", "[unit]") {
  CHECK(to_text({{"a.yaml", 3, 7}, "no unit"}) == "a.yaml:3:7: error: no unit");
}

TEST_CASE("a diagnostic of a whole file has no line", "[unit]") {
  CHECK(to_text({{"a.yaml", 0, 0}, "is missing"}) == "a.yaml: error: is missing");
}

TEST_CASE("collected diagnostics are thrown together in the order of the file", "[unit]") {
  Diagnostics diagnostics;
  diagnostics.error({"a.yaml", 9, 1}, "third");
  diagnostics.error({"a.yaml", 2, 5}, "second");
  diagnostics.error({"a.yaml", 2, 1}, "first");
  CHECK(test::config_error([&] { diagnostics.throw_if_any(); }) ==
        "a.yaml:2:1: error: first\na.yaml:2:5: error: second\na.yaml:9:1: error: third");
}

TEST_CASE("without diagnostics nothing is thrown", "[unit]") {
  CHECK_NOTHROW(Diagnostics().throw_if_any());
}

TEST_CASE("a failed check names the condition, the detail and the place", "[unit]") {
  const auto fail = [] { STEPCAST_CHECK(1 == 2, "one is " + std::to_string(1)); };
  CHECK_THROWS_AS(fail(), InternalError);
  try {
    fail();
  } catch (const InternalError& error) {
    CHECK_THAT(error.what(), contains_text("1 == 2") && contains_text("one is 1") &&
                                 contains_text("error_test.cpp"));
  }
}

TEST_CASE("the detail of a check that holds is not evaluated", "[unit]") {
  int evaluated = 0;
  const auto detail = [&] {
    ++evaluated;
    return std::string();
  };
  STEPCAST_CHECK(true, detail());
  CHECK(evaluated == 0);
}

}  // namespace
}  // namespace stepcast::error_test
