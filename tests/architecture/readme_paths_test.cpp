// SPDX-License-Identifier: Apache-2.0
// What the READMEs name is there.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace stepcast::readme_paths_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = STEPCAST_DATA_ROOT;

// Files of the reader's own, in examples of commands.
const std::set<std::string> kOfTheReader = {"config.json", "steps.jsonl", "torchtitan_steps.jsonl",
                                            "train.sh",    "config_*.sh", "run_train.sh"};

std::vector<fs::path> readmes() {
  std::vector<fs::path> files = {"README.md"};
  for (const char* folder :
       {"simulator", "backends", "hardware_profiles", "configs", "examples", "tests/validation"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().filename() == "README.md") {
        files.push_back(fs::relative(entry.path(), kRoot));
      }
    }
  }
  return files;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::regex_replace(text.str(), std::regex("```[\\s\\S]*?```"), "");
}

// "a/{b,c}.md" -> "a/b.md", "a/c.md"; without braces the path alone.
std::vector<std::string> alternatives(const std::string& path) {
  static const std::regex braces(R"(^(.*)\{([^}]*)\}(.*)$)");
  std::smatch parts;
  if (!std::regex_match(path, parts, braces)) {
    return {path};
  }
  std::vector<std::string> paths;
  std::istringstream choices(parts[2]);
  for (std::string choice; std::getline(choices, choice, ',');) {
    paths.push_back(parts[1].str() + choice + parts[3].str());
  }
  return paths;
}

// What a README puts in backticks or links to as a path: it ends as a file or a folder does, and
// holds no word in capitals that stands for a name.
std::vector<std::string> paths_in(const std::string& text) {
  static const std::regex quoted(R"(`([^`\s]+)`|\]\(([^)\s#:]+)(?:#[^)]*)?\))");
  static const std::regex path(
      R"(^[\w.*/{},-]+(/|\.(cpp|hpp|yaml|jsonl|json|md|sh|txt|csv|cmake|in))$)");
  static const std::regex placeholder(R"((^|[/.])[A-Z]{2,}([/.]|$))");
  std::vector<std::string> paths;
  for (std::sregex_iterator i(text.begin(), text.end(), quoted), end; i != end; ++i) {
    const std::string word = (*i)[1].matched ? (*i)[1] : (*i)[2];
    const bool is_readme = word.ends_with("README.md");
    if (std::regex_match(word, path) && (is_readme || !std::regex_search(word, placeholder)) &&
        !kOfTheReader.contains(word)) {
      const std::vector<std::string> all = alternatives(word);
      paths.insert(paths.end(), all.begin(), all.end());
    }
  }
  return paths;
}

// Names of files in a folder may have a *.
bool matches(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.find('*') == std::string::npos) {
    return fs::exists(path);
  }
  const std::regex pattern(std::regex_replace(std::regex_replace(name, std::regex("[.]"), "[.]"),
                                              std::regex("[*]"), ".*"));
  std::error_code error;
  const fs::directory_iterator folder(path.parent_path(), error);
  return std::any_of(begin(folder), end(folder), [&](const fs::directory_entry& entry) {
    return std::regex_match(entry.path().filename().string(), pattern);
  });
}

// A path is one from the README's folder, from the root, from where includes begin, or from the
// library's folder of folders.
bool is_there(const std::string& path, const fs::path& readme) {
  const std::array<fs::path, 4> starts = {kRoot / readme.parent_path(), kRoot, kRoot / "simulator",
                                          kRoot / "simulator/stepcast"};
  return std::any_of(starts.begin(), starts.end(),
                     [&](const fs::path& start) { return matches(start / path); });
}

TEST_CASE("a README's paths are found in its text", "[architecture]") {
  CHECK(
      paths_in("see `cost/` and `a/{b,c}.md`, `gpus/NAME.yaml`, `tokens/s`, [x](y/README.md#z)") ==
      std::vector<std::string>{"cost/", "a/b.md", "a/c.md", "y/README.md"});
}

TEST_CASE("every file and folder that a README names is there", "[architecture]") {
  std::size_t paths = 0;
  REQUIRE(readmes().size() > 5);
  for (const fs::path& readme : readmes()) {
    CAPTURE(readme.string());
    for (const std::string& path : paths_in(text_of(kRoot / readme))) {
      CAPTURE(path);
      CHECK(is_there(path, readme));
      ++paths;
    }
  }
  CHECK(paths > 80);
}

// The numbers of the steps below a heading "Add ..." or "Adding ...".
std::vector<int> steps_of_recipes(const std::string& text) {
  std::vector<int> steps;
  bool recipe = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      recipe = line.starts_with("## Add");
    } else if (recipe && line.size() > 2 && line[0] >= '1' && line[0] <= '9' && line[1] == '.') {
      steps.push_back(line[0] - '0');
    }
  }
  return steps;
}

TEST_CASE("what is added to the program is added in at most five steps", "[architecture]") {
  int recipes = 0;
  for (const fs::path& readme : readmes()) {
    CAPTURE(readme.string());
    for (const int step : steps_of_recipes(text_of(kRoot / readme))) {
      recipes += step == 1 ? 1 : 0;
      CHECK(step <= 5);
    }
  }
  CHECK(recipes >= 6);  // GPU, model, backend, operator, dispatcher, schedule
}

}  // namespace
}  // namespace stepcast::readme_paths_test
