// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/config_yaml.hpp"

#include "catch.hpp"

namespace stepcast::config_yaml_test {
namespace {

TEST_CASE("mappings of scalars and lists stand on one line below the first level", "[unit]") {
  const std::string text =
      "model: llama2_7b\n"
      "plan: {tp: 8, pp: 4}\n"
      "training:\n  lora: {rank: 16, targets: [qkv, o]}\n";
  const ConfigNode root = parse_config(text, "a.yaml");
  CHECK(to_yaml(root) == text);
  CHECK(to_flow_yaml(*root.find("plan")) == "{tp: 8, pp: 4}");
}

TEST_CASE("a quoted scalar stays a text and a plain one what it is", "[unit]") {
  const ConfigNode root =
      parse_config("{a: \"8\", b: 8, c: \"true\", d: \"64 GB\", e: \"x: {y}\", f: \"\"}", "a.yaml");
  const ConfigNode back = parse_config(to_yaml(root), "b.yaml");
  for (const ConfigEntry& entry : root.entries) {
    CAPTURE(entry.key);
    const ConfigNode* same = back.find(entry.key);
    REQUIRE(same != nullptr);
    CHECK(same->text == entry.value.text);
  }
  CHECK(back.find("a")->quoted);
  CHECK_FALSE(back.find("b")->quoted);
  CHECK(back.find("c")->quoted);
}

}  // namespace
}  // namespace stepcast::config_yaml_test
