// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/error.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/printable.hpp"

namespace stepcast::error_test {
namespace {

using test::contains_text;

TEST_CASE("a diagnostic reads file:line:column: error: message", "[unit]") {
  CHECK(to_text({{"a.yaml", 3, 7}, "no unit"}) == "a.yaml:3:7: error: no unit");
}

TEST_CASE("a diagnostic of a whole file has no line", "[unit]") {
  CHECK(to_text({{"a.yaml", 0, 0}, "is missing"}) == "a.yaml: error: is missing");
}

TEST_CASE("text of an input is told in any script, and drives no terminal", "[unit]") {
  CHECK(to_text({{"a"}, "is '\xC3\xA9'"}) == "a: error: is '\xC3\xA9'");
  CHECK(to_text({{"a"}, "\x1B[31m"}) == "a: error: \\x1b[31m");
  CHECK(to_text({{"a"}, "\xC2\x9B"}) == "a: error: \\xc2\\x9b");  // U+009B, of a terminal as well
  CHECK(to_text({{"\xC3("}, "x"}) == "\\xc3(: error: x");         // no UTF-8
}

TEST_CASE("a beginning has whole letters", "[unit]") {
  CHECK(beginning_of("abc", 3) == "abc");
  CHECK(beginning_of("abcd", 3) == "abc...");
  CHECK(beginning_of("ab\xC3\xA9", 3) == "ab...");
}

TEST_CASE("of what is too long for a name the beginning is told", "[unit]") {
  const std::string name(100'000, 'x');
  const std::string text = to_text({{"/tmp/" + name}, "there is no '" + name + "'"});
  CHECK_THAT(text, contains_text("/tmp/" + std::string(60, 'x') + "...: error: there is no 'xxx"));
  CHECK(text.size() < 200);
  const std::string longest_name(255, 'y');
  CHECK(to_text({{longest_name}, "x"}) == longest_name + ": error: x");
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
