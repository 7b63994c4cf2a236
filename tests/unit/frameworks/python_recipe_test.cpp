// SPDX-License-Identifier: Apache-2.0
#include "frameworks/python_recipe.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::python_recipe_test {
namespace {

using test::config_error;
using test::contains_text;

PythonValue result(const std::string& text, const std::string& function = "f") {
  return python_result(text, "a.py", function);
}
std::string returned(const std::string& expression) {
  return result("def f():\n  return " + expression + "\n").text;
}
std::string fault_of(const std::string& text) {
  return config_error([&] { result(text); });
}

TEST_CASE("whole numbers are added up and multiplied", "[unit]") {
  CHECK(returned("8 * 2048") == "16384");
  CHECK(returned("2 * (3 + 4) - 1") == "13");
  CHECK(returned("1_000 // 7") == "142");
  CHECK(returned("-3") == "-3");
  CHECK(returned("9223372036854775807 * 2") == "9223372036854775807 * 2");
}

TEST_CASE("strings, lists and calls keep their parts", "[unit]") {
  CHECK(returned("'a' \"b\"  # c") == "ab");
  const PythonValue call = result("def f():\n  return A.B(1, x=[2, None,], y=C(z='t'))\n");
  CHECK(call.text == "A.B");
  REQUIRE(call.items.size() == 1);
  REQUIRE(call.keywords.size() == 2);
  CHECK(call.keywords[0].value.items.at(1).text == "None");
  CHECK(call.keywords[1].value.keywords.at(0).value.text == "t");
}

TEST_CASE("what another function returns is changed by assignments", "[unit]") {
  const std::string text =
      "def base() -> Config:\n"
      "    \"\"\"A text\n  over lines.\"\"\"\n"
      "    return Config(a=A(b=1, c=2))\n"
      "\n"
      "def f():\n"
      "    config = base()\n"
      "    n: int = 4\n"
      "    if n:\n"
      "        config.a.b = 9\n"
      "    config.a.c = n * 2\n"
      "    config.d = config.a.b\n"
      "    return config\n";
  PythonValue value = result(text);
  CHECK(keyword_of(*keyword_of(value, "a"), "b")->text == "1");
  CHECK(keyword_of(*keyword_of(value, "a"), "c")->text == "8");
  CHECK(keyword_of(value, "d")->text == "1");
  CHECK(recipe_functions(text, "a.py") == std::vector<std::string>{"base", "f"});
}

TEST_CASE("what is not understood keeps its text", "[unit]") {
  CHECK(returned("a.b and 'm' in c.d") == "a.b and 'm' in c.d");
  CHECK(returned("x if y else z") == "x if y else z");
  CHECK(returned("lambda s: s").substr(0, 6) == "lambda");
}

TEST_CASE("a dictionary is one value, whatever commas it has", "[unit]") {
  CHECK(returned("{'a': 1, 'b': (0.9, 0.95),}") == "{'a': 1, 'b': (0.9, 0.95),}");
  const PythonValue call = result("def f():\n  return A(x={\n    'a': 1,\n  }, y={}, z=3)\n");
  REQUIRE(call.keywords.size() == 3);
  CHECK(call.keywords[1].value.text == "{}");
  CHECK(call.keywords[2].value.text == "3");
}

TEST_CASE("Python that cannot be read is an error with a place", "[unit]") {
  CHECK_THAT(fault_of("def f():\n  return A(x=\n"), contains_text("a.py:"));
  CHECK_THAT(fault_of("def f():\n  return 'a\n"), contains_text("a.py:2:12: error: has a string"));
  CHECK_THAT(fault_of("def f():\n  return f()\n"), contains_text("is nested too deep"));
  CHECK_THAT(fault_of("def f():\n  pass\n"), contains_text("returns nothing that can be read"));
  CHECK_THAT(fault_of("def g():\n  return 1\n"), contains_text("has no function 'f'"));
  CHECK_THAT(fault_of("def f():\n  return " + std::string(200, '(') + std::string(200, ')')),
             contains_text("nested too deep"));
  // Each line doubles the value.
  std::string doubling = "def f():\n  a = [1]\n";
  for (int i = 0; i < 40; ++i) {
    doubling += "  a = [a, a]\n";
  }
  CHECK_THAT(fault_of(doubling + "  return a\n"), contains_text("more values than"));
}

}  // namespace
}  // namespace stepcast::python_recipe_test
