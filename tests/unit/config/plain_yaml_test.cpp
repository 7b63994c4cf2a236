// SPDX-License-Identifier: Apache-2.0

#include <random>

#include "catch.hpp"
#include "config_trees.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_yaml.hpp"

namespace stepcast::plain_yaml_test {
namespace {

std::optional<ConfigNode> plain(std::string_view text) {
  return read_plain_yaml(text, std::make_shared<const std::string>("a.yaml"));
}

ConfigNode full(std::string_view text) {
  return read_full_yaml(text, std::make_shared<const std::string>("a.yaml"));
}

std::vector<std::filesystem::path> yaml_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(test::data_root().folder / folder)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("every shipped file is ordinary YAML and reads as yaml-cpp reads it", "[unit]") {
  const auto folder = GENERATE(as<std::string>{}, "hardware_profiles", "configs", "examples");
  const std::vector<std::filesystem::path> files = yaml_files(folder);
  REQUIRE(files.size() > 10);
  for (const std::filesystem::path& file : files) {
    CAPTURE(file);
    const std::string text = read_file(file);
    const std::optional<ConfigNode> read = plain(text);
    REQUIRE(read.has_value());
    CHECK(test::same_tree(*read, full(text)));
  }
}

TEST_CASE("values, quotes and places are those of the text", "[unit]") {
  const std::string text = "hbm:\n  capacity: 80 GB\nlist: [1, 'two']\n";
  const std::optional<ConfigNode> read = plain(text);
  REQUIRE(read.has_value());
  const ConfigNode* capacity = read->find("hbm")->find("capacity");
  CHECK(capacity->text == "80 GB");
  CHECK_FALSE(capacity->quoted);
  CHECK(capacity->line == 2);
  CHECK(capacity->column == 13);
  CHECK(read->find("list")->items[1].quoted);
  CHECK(test::same_tree(*read, full(text)));
}

TEST_CASE("what is not ordinary is left to yaml-cpp", "[unit]") {
  for (const char* text : {"",
                           "# a comment\n",
                           "a:\n",
                           "a: ~\n",
                           "a: null\n",
                           "{a, b: 1}\n",
                           "a: &x 1\n",
                           "a: &x {b: 1}\n",
                           "a: [*x]\n",
                           "a: !!int 3\n",
                           "a: !t [1]\n",
                           "---\na: 1\n",
                           "a: 1\n...\n",
                           "a: 1\n---\nb: 2\n",
                           "a: |\n  text\n",
                           "a: >\n  text\n",
                           "a: 1\na: 2\n",
                           "{b: {a: 1, a: 2}}",
                           "a: [1, 2",
                           "a: b: c",
                           "[1, 2]: 3\n",
                           "\"\": 1\n",
                           "? a\n: 1\n",
                           "a: \"\\n\"\n",
                           "a: \"\n\n\"\n",
                           "a: '\n\n'\n",
                           "a: 1\r\n",
                           "a:\t1\n",
                           "a: caf\xc3\xa9\n"}) {
    CAPTURE(text);
    CHECK_FALSE(plain(text).has_value());
  }
  const std::string deep(kDeepestPlainYaml, '[');
  const std::string closed(kDeepestPlainYaml, ']');
  CHECK(plain(deep + "1" + closed).has_value());
  CHECK_FALSE(plain("[" + deep + "1" + closed + "]").has_value());
}

// Changes a few characters of `text` to others that mean something in YAML.
std::string mutated(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kSigns = ":,[]{}#'\"- \n|>&*!%@`~ab1.?";
  for (auto changes = 1 + random() % 4; changes > 0; --changes) {
    const std::size_t at = random() % text.size();
    const char sign = kSigns[random() % kSigns.size()];
    switch (random() % 3) {
      case 0:
        text[at] = sign;
        break;
      case 1:
        text.insert(at, 1, sign);
        break;
      default:
        text.erase(at, 1);
    }
  }
  return text;
}

TEST_CASE("of changed texts too the two readers make the same tree", "[unit]") {
  std::mt19937_64 random(18);
  int read = 0;
  for (const std::filesystem::path& file : yaml_files("examples")) {
    const std::string text = read_file(file);
    for (int i = 0; i < 50; ++i) {
      const std::string changed = mutated(text, random);
      if (const std::optional<ConfigNode> tree = plain(changed)) {
        CAPTURE(changed);
        ++read;
        REQUIRE(test::same_tree(*tree, full(changed)));
      }
    }
  }
  CHECK(read > 100);
}

}  // namespace
}  // namespace stepcast::plain_yaml_test
