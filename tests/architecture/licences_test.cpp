// SPDX-License-Identifier: Apache-2.0
// Every source says its licence, and the notices name what the program is compiled with.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "architecture/contents.hpp"
#include "catch.hpp"

namespace stepcast::licences_test {
namespace {

namespace fs = std::filesystem;
using test::contents;

const fs::path kRoot = STEPCAST_DATA_ROOT;

bool is_source(const fs::path& file) {
  static const std::set<std::string> kEndings = {".cpp", ".hpp", ".sh",   ".py",    ".js",
                                                 ".css", ".in",  ".html", ".cmake", ".toml"};
  return file.filename() == "CMakeLists.txt" || kEndings.count(file.extension().string()) == 1;
}

// Files of other programs, as they are, which readers are tested with.
bool is_foreign(const fs::path& file) {
  const std::string name = fs::relative(file, kRoot).generic_string();
  return name.starts_with("tests/data/") || name.starts_with("tests/fuzz/corpus/") ||
         name.starts_with("tests/fuzz/regressions/") || name.starts_with("tests/cli/bad/");
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files = {kRoot / "CMakeLists.txt", kRoot / "pyproject.toml"};
  for (const char* folder : {"simulator", "backends", "tests", "scripts", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.is_regular_file() && is_source(entry.path()) && !is_foreign(entry.path())) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

TEST_CASE("every source and script says its licence in its first lines", "[architecture]") {
  const std::vector<fs::path> files = sources();
  REQUIRE(files.size() > 1000);
  for (const fs::path& file : files) {
    const std::string text = contents(file);
    CAPTURE(file.string());
    CHECK(text.substr(0, 200).find("SPDX-License-Identifier: Apache-2.0") != std::string::npos);
  }
}

// Libraries that programs load and do not contain, and what tests alone use.
const std::set<std::string> kNotContained = {"Threads", "ZLIB", "SQLite", "Catch2", "benchmark"};

TEST_CASE("the notices name every library that the program is compiled with", "[architecture]") {
  const std::string notices = contents(kRoot / "scripts/third_party_notices.txt");
  const std::string build = contents(kRoot / "CMakeLists.txt");
  static const std::regex package(R"(find_package\((\w[\w-]*?)3? )");
  std::size_t named = 0;
  for (std::sregex_iterator i(build.begin(), build.end(), package), end; i != end; ++i) {
    const std::string name = (*i)[1];
    if (kNotContained.count(name) == 0) {
      CAPTURE(name);
      CHECK(notices.find("\nFiles: " + name + "\n") != std::string::npos);
      ++named;
    }
  }
  CHECK(named > 5);
  CHECK(notices.find("\nFiles: D3, ") != std::string::npos);
}

}  // namespace
}  // namespace stepcast::licences_test
