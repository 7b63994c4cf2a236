// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/json_node.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::json_node_test {
namespace {

using test::config_error;
using test::contains_text;

ConfigNode parsed(const std::string& text) {
  Diagnostics diagnostics;
  std::optional<ConfigNode> object = parse_json_object(text, {"a.json"}, diagnostics);
  diagnostics.throw_if_any();
  return std::move(*object);
}

std::string fault_of(const std::string& text) {
  return config_error([&] { parsed(text); });
}

std::string place(const Location& where) {
  return where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
}

TEST_CASE("every key and value of a JSON text has its place", "[unit]") {
  const ConfigNode root = parsed(
      "{\"a\": 12, \"b\\n\\u00e9\":[1,{\"deep\" : null} , \"x\"],\n"
      "  \"c\": {\n    \"d\" : -2.50e1}}");
  CHECK(place(root.location()) == "a.json:1:1");
  CHECK(place(root.entry("a")->location()) == "a.json:1:2");
  CHECK(place(root.find("a")->location()) == "a.json:1:7");
  const ConfigEntry& list = root.entries[1];
  CHECK(list.key == "b\n\u00e9");  // written with escapes, which count as they are written
  CHECK(place(list.location()) == "a.json:1:11");
  REQUIRE(list.value.items.size() == 3);
  CHECK(place(list.value.items[0].location()) == "a.json:1:24");
  CHECK(place(list.value.items[1].entry("deep")->location()) == "a.json:1:27");
  CHECK(place(list.value.items[1].find("deep")->location()) == "a.json:1:36");
  CHECK(place(list.value.items[2].location()) == "a.json:1:44");
  const ConfigNode& object = *root.find("c");
  CHECK(place(object.location()) == "a.json:2:8");
  CHECK(place(object.entry("d")->location()) == "a.json:3:5");
  CHECK(place(object.find("d")->location()) == "a.json:3:11");
}

TEST_CASE("a JSON number keeps how it was written, and only a text is quoted", "[unit]") {
  const ConfigNode root = parsed(
      R"({"float": 1.50e-3, "large": 99999999999999999999, "text": "7", "flag": true, "no": null})");
  CHECK(root.find("float")->text == "1.50e-3");
  CHECK(root.find("large")->text == "99999999999999999999");
  CHECK((root.find("text")->text == "7" && root.find("text")->quoted));
  CHECK((root.find("flag")->text == "true" && !root.find("flag")->quoted));
  CHECK(root.find("no")->kind == ConfigNode::Kind::kNull);
}

TEST_CASE("a key that stands twice in a JSON object is refused at any depth", "[unit]") {
  CHECK(fault_of("{\"a\": {\"b\": 1, \"c\": 2,\n \"b\": 3}, \"d\": [{\"e\": 1, \"e\": 1}]}") ==
        "a.json:2:2: error: duplicate key 'b'; keep one of them\n"
        "a.json:2:26: error: duplicate key 'e'; keep one of them");
  CHECK(fault_of(R"({"a": {"b": 1}, "c": {"b": 1}})") == "no error");
}

TEST_CASE("a JSON text is one object of limited size and depth", "[unit]") {
  CHECK(fault_of("3") ==
        "a.json:1:1: error: the file must hold one JSON object, { \"key\": value, ... }");
  CHECK(fault_of("{\n \"a\" 1}") ==
        "a.json:2:6: error: not JSON: syntax error while parsing object separator - unexpected "
        "number literal; expected ':'; correct the file here");
  const std::string deep = "{\"a\": " + std::string(64, '[') + std::string(64, ']') + "}";
  CHECK_THAT(fault_of(deep), contains_text("nested more than 64 levels deep"));
  std::string wide = "{\"a\": {";
  for (int i = 0; i <= 10'000; ++i) {
    wide += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  }
  CHECK_THAT(fault_of(wide + "}}"), contains_text("has more than 10000 keys"));
  CHECK_THAT(fault_of(std::string(kLargestJson + 1, ' ')), contains_text("more than 1048576"));
}

// {"a": [0.0, Infinity], "b": -Infinity, "c": "NaN", "d": NaN, "e": 1}
TEST_CASE("Python's numbers that JSON has not keep their place and are told from texts", "[unit]") {
  const std::string text =
      R"({"a": [0.0, Infinity], "b": -Infinity, "c": "NaN", "d": NaN, "e": 1})";
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root =
      parse_json_object(text, {.file = "a.json", .numbers = JsonNumbers::kPython}, diagnostics);
  REQUIRE(root.has_value());
  const ConfigNode& infinity = root->find("a")->items[1];
  CHECK(infinity.text == "Infinity");
  CHECK_FALSE(infinity.quoted);
  CHECK(place(infinity.location()) == "a.json:1:13");
  CHECK(root->find("b")->text == "-Infinity");
  CHECK(root->find("c")->quoted);
  CHECK(root->find("d")->text == "NaN");
  CHECK(place(root->find("e")->location()) == "a.json:1:" + std::to_string(text.find('1') + 1));
  CHECK_THAT(fault_of(text), contains_text("not JSON"));  // unless it is asked for
}

}  // namespace
}  // namespace stepcast::json_node_test
