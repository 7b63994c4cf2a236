// SPDX-License-Identifier: Apache-2.0
// Every key that an export writes is one that the framework has: tests/data/framework_keys.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "frameworks/exported_file.hpp"
#include "frameworks/framework_table.hpp"
#include "sample_specs.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast::export_keys_test {
namespace {

using namespace stepcast::test;
using Names = std::set<std::string>;

Names known_keys(const std::string& framework) {
  std::istringstream text(
      read_file(data_root().folder / "tests/data/framework_keys" / (framework + ".txt")));
  std::string source;
  std::getline(text, source);
  REQUIRE(source.starts_with("# "));
  Names names;
  for (std::string name; text >> name;) {
    names.insert(name);
  }
  return names;
}

Names all_matches(const std::string& text, const std::string& pattern) {
  Names names;
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  for (std::sregex_iterator found(text.begin(), text.end(), regex), none; found != none; ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    kept += line.starts_with('#') ? "" : line + "\n";
  }
  return kept;
}

Names toml_keys(const std::string& text) {
  Names names;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) {
      section = line.substr(1, line.find(']') - 1);
    } else if (const std::size_t end = line.find(" ="); end != std::string::npos) {
      names.insert(section + "." + line.substr(0, end));
    }
  }
  return names;
}

// Torchrun's own options, which launch the program that takes the others.
Names torchrun_options() {
  return {"--nproc_per_node", "--nnodes", "--node_rank", "--master_addr", "--master_port"};
}

Names written_keys(const std::string& framework, const std::string& file) {
  const std::string text = without_comments(file);
  if (framework == "torchtitan") {
    return toml_keys(text);
  }
  if (framework == "maxtext") {
    return all_matches(text, R"(^([A-Za-z_]\w*):)");
  }
  if (framework == "primus") {
    return all_matches(text, R"(^      ([A-Za-z_]\w*):)");
  }
  Names names = all_matches(text, R"((?:^|\s)(--?[A-Za-z][\w-]*))");
  names.merge(all_matches(text, R"(^    ([a-z_]+\.\w+)=)"));
  for (const std::string& option : torchrun_options()) {
    names.erase(option);
  }
  return names;
}

TEST_CASE("exports write no key that the framework does not have", "[unit]") {
  const std::filesystem::path examples = data_root().folder / "examples";
  for (const FrameworkInfo& framework : frameworks()) {
    if (framework.export_to == nullptr) {
      continue;
    }
    const Names known = known_keys(std::string(framework.name));
    int files = 0;
    for (const auto& folder : std::filesystem::directory_iterator(examples)) {
      const std::filesystem::path file = folder.path() / "experiment.yaml";
      if (!std::filesystem::exists(file)) {
        continue;
      }
      std::vector<ExportedFile> exports;
      try {
        exports = exported(framework, load_config(file), folder.path(), data_root());
      } catch (const ConfigError&) {
        continue;  // the framework cannot run it
      }
      const Names written = written_keys(std::string(framework.name), exports.front().text);
      CHECK(written.size() > 8);
      for (const std::string& key : written) {
        INFO(framework.name << " of " << file.string() << " writes " << key);
        CHECK(known.contains(key));
      }
      ++files;
    }
    INFO(framework.name);
    CHECK(files >= 3);
  }
}

}  // namespace
}  // namespace stepcast::export_keys_test
