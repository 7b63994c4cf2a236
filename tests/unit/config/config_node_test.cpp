// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_node.hpp"

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::config_node_test {
namespace {

using test::config_error;
using test::contains_text;

std::string fault_of(std::string_view text) {
  return config_error([&] { parse_config(text, "a.yaml"); });
}

TEST_CASE("every value and every key knows its place", "[unit]") {
  const ConfigNode root = parse_config("hbm:\n  capacity: 80 GB\nlist: [1, two]\n", "a.yaml");
  REQUIRE(root.kind == ConfigNode::Kind::kMapping);
  const ConfigNode* hbm = root.find("hbm");
  REQUIRE(hbm != nullptr);
  const ConfigNode* capacity = hbm->find("capacity");
  REQUIRE(capacity != nullptr);
  CHECK(capacity->text == "80 GB");
  CHECK(capacity->location().file == "a.yaml");
  CHECK(capacity->location().line == 2);
  CHECK(capacity->location().column == 13);
  CHECK(hbm->entries.front().line == 2);
  CHECK(hbm->entries.front().column == 3);
  const ConfigNode* list = root.find("list");
  REQUIRE(list != nullptr);
  REQUIRE(list->items.size() == 2);
  CHECK(list->items[1].text == "two");
  CHECK(list->items[1].column == 11);
  CHECK(root.find("nothing") == nullptr);
}

TEST_CASE("scalars stay text, and quotes are remembered", "[unit]") {
  const ConfigNode root = parse_config("a: 010\nb: \"8\"\nc: yes\nd:\n", "a.yaml");
  CHECK(root.find("a")->text == "010");
  CHECK_FALSE(root.find("a")->quoted);
  CHECK(root.find("b")->text == "8");
  CHECK(root.find("b")->quoted);
  CHECK(root.find("c")->text == "yes");
  CHECK(root.find("d")->kind == ConfigNode::Kind::kNull);
}

TEST_CASE("a repeated key is refused with the lines of both", "[unit]") {
  CHECK(fault_of("tp: 8\npp: 4\ntp: 4\n") ==
        "a.yaml:3:1: error: repeated key 'tp', first given on line 1; keep one of them");
}

TEST_CASE("a repeated key of a block is traced to the line of the first key", "[unit]") {
  CHECK_THAT(fault_of("plan:\n  tp: 8\nplan:\n  tp: 4\n"),
             contains_text("a.yaml:3:1: ") && contains_text("first given on line 1;"));
}

TEST_CASE("a file without content is refused", "[unit]") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    CAPTURE(text);
    CHECK_THAT(fault_of(text), contains_text("the file is empty; it needs a mapping"));
  }
}

TEST_CASE("a binary file is refused at its first control character", "[unit]") {
  CHECK_THAT(fault_of(std::string_view("a: 1\nb\0c", 8)),
             contains_text("a.yaml:2:2: error: this is no text file"));
  CHECK_THAT(fault_of("\x7f"
                      "ELF"),
             contains_text("a.yaml:1:1: error: this is no text file"));
  CHECK(fault_of("a:\t1\r\n") == "no error");  // tab and carriage return are text
}

TEST_CASE("anchors, aliases and tags are refused", "[unit]") {
  const std::string fault = fault_of("a: &x 1\nb: *x\nc: !!int 3\n");
  CHECK_THAT(fault, contains_text("a.yaml:1:4: error: an anchor") &&
                        contains_text("a.yaml:2:4: error: an alias") &&
                        contains_text("a.yaml:3:4: error: the tag"));
}

TEST_CASE("a billion laughs are refused, not expanded", "[unit]") {
  CHECK_THAT(fault_of("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), contains_text("alias"));
}

TEST_CASE("a second document is refused", "[unit]") {
  CHECK_THAT(fault_of("a: 1\n---\nb: 2\n"), contains_text("a second document"));
}

TEST_CASE("keys that are no words are refused", "[unit]") {
  CHECK_THAT(fault_of("{[1, 2]: 3}"), contains_text("a key must be a plain word"));
  CHECK_THAT(fault_of("? {a: 1}\n: 2\n"), contains_text("a key must be a plain word"));
  CHECK_THAT(fault_of("\"\": 2\n"), contains_text("a key must be a plain word"));
}

TEST_CASE("broken YAML is refused with its place and a remedy", "[unit]") {
  for (const char* text : {"a: [1, 2", "a: {b: 1", "a: \"open", "a: b: c", "\ta: 1", "a: 1\n b: 2",
                           "a: 'x' y", "]", "a: @", "%YAML 9"}) {
    CAPTURE(text);
    CHECK_THAT(fault_of(text), contains_text("a.yaml:") && contains_text("not valid YAML: ") &&
                                   contains_text("check indentation"));
  }
}

TEST_CASE("deep nesting is refused, not overflowed", "[unit]") {
  for (const std::string unit : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
      text += unit;
    }
    CAPTURE(unit);
    CHECK_THAT(fault_of(text), contains_text("a.yaml:"));
  }
}

TEST_CASE("a file larger than 4 MiB is refused before it is parsed", "[unit]") {
  CHECK_THAT(fault_of(std::string(kLargestConfig + 1, 'a')), contains_text("larger than 4 MiB"));
}

TEST_CASE("a missing file and a folder are errors of the user", "[unit]") {
  const auto load = [](const std::filesystem::path& file) {
    return config_error([&] { load_config(file); });
  };
  CHECK_THAT(load(test::data_root().folder / "no_such_file.yaml"),
             contains_text("no_such_file.yaml: error: cannot open the file"));
  CHECK_THAT(load(test::data_root().folder), contains_text("this is a folder"));
}

TEST_CASE("an override sets a value in place", "[unit]") {
  ConfigNode root = parse_config("plan: {tp: 8, pp: 4}\nname: x\n", "a.yaml");
  apply_override(root, "plan.tp=2");
  apply_override(root, "name=y");
  CHECK(root.find("plan")->find("tp")->text == "2");
  CHECK(root.find("plan")->find("pp")->text == "4");
  CHECK(root.find("plan")->entries.size() == 2);
  CHECK(root.find("name")->text == "y");
  CHECK(root.find("name")->location().file == "--set name=y");
}

TEST_CASE("an override makes the mappings on its way", "[unit]") {
  ConfigNode root = parse_config("name: x\nempty:\n", "a.yaml");
  apply_override(root, "plan.overlap.tp=0.5");
  apply_override(root, "empty.a=1");
  CHECK(root.find("plan")->find("overlap")->find("tp")->text == "0.5");
  CHECK(root.find("empty")->find("a")->text == "1");
}

TEST_CASE("an override takes YAML, and the rest after the first '='", "[unit]") {
  ConfigNode root = parse_config("name: x\n", "a.yaml");
  apply_override(root, "plan.stage_layout=[4, 4]");
  apply_override(root, "name=a=b");
  CHECK(root.find("plan")->find("stage_layout")->items.size() == 2);
  CHECK(root.find("name")->text == "a=b");
}

TEST_CASE("a character that JSON writes as two escapes is read, alone each is refused", "[unit]") {
  const ConfigNode root =
      parse_config("{\"name\": \"\\ud83d\\ude00\",\n \"plan\": {\"tp\": 8}}\n", "a.json");
  CHECK(root.find("name")->text == "\U0001F600");
  CHECK(root.find("plan")->find("tp")->text == "8");
  CHECK(root.find("plan")->line == 2);
  CHECK_THAT(config_error([] { parse_config("{\"name\": \"\\ud83d\"}\n", "a.json"); }),
             contains_text("a.json:1:"));
}

TEST_CASE("an override of one switch keeps the named software set as its base", "[unit]") {
  ConfigNode root = parse_config("software: megatron\n", "a.yaml");
  apply_override(root, "software.fused_qkv=false");
  CHECK(root.find("software")->find("base")->text == "megatron");
  CHECK(root.find("software")->find("fused_qkv")->text == "false");
}

TEST_CASE("a malformed override is refused", "[unit]") {
  for (const char* assignment : {"", "=", "plan.tp", "=8", ".tp=8", "plan.=8", "plan..tp=8"}) {
    ConfigNode root = parse_config("plan: {tp: 8}\n", "a.yaml");
    CAPTURE(assignment);
    CHECK_THAT(config_error([&] { apply_override(root, assignment); }),
               contains_text("write an assignment like plan.tp=8"));
  }
}

TEST_CASE("an override cannot run through a single value", "[unit]") {
  ConfigNode root = parse_config("plan: {tp: 8}\n", "a.yaml");
  CHECK_THAT(config_error([&] { apply_override(root, "plan.tp.x=1"); }),
             contains_text("'tp' is not a mapping"));
}

// One call a level would overflow the stack.
TEST_CASE("an override nested thousands deep is refused, not overflowed", "[unit]") {
  std::string assignment = "a";
  for (int i = 0; i < 60'000; ++i) {
    assignment += ".a";
  }
  ConfigNode root = parse_config("name: x\n", "a.yaml");
  CHECK(config_error([&] { apply_override(root, assignment + "=1"); }) != "no error");
}

TEST_CASE("an override without a value says so, and of no file", "[unit]") {
  ConfigNode root = parse_config("plan: {tp: 8}\n", "a.yaml");
  CHECK_THAT(config_error([&] { apply_override(root, "plan.tp="); }),
             contains_text("--set plan.tp=") && contains_text("value"));
}

}  // namespace
}  // namespace stepcast::config_node_test
