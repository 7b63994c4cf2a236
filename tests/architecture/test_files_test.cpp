// SPDX-License-Identifier: Apache-2.0
// What ctest's groups and the batches that tests are compiled in rely on.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "architecture/contents.hpp"
#include "catch.hpp"

namespace stepcast::test_files_test {
namespace {

namespace fs = std::filesystem;
using test::contents;

const fs::path kTests = fs::path(STEPCAST_DATA_ROOT) / "tests";

std::vector<fs::path> test_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kTests)) {
    if (entry.path().filename().string().ends_with("_test.cpp")) {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST_CASE("a unit test stands below tests/unit, where its ctest group is made from its folder",
          "[architecture]") {
  const std::string tag = std::string("\"[") + "unit]";
  REQUIRE(test_files().size() > 100);
  for (const fs::path& file : test_files()) {
    CAPTURE(file.string());
    const bool unit = fs::relative(file, kTests).begin()->string() == "unit";
    CHECK((unit || contents(file).find(tag) == std::string::npos));
  }
}

TEST_CASE("a test file has a namespace of its own, and is named once", "[architecture]") {
  std::vector<std::string> stems;
  for (const fs::path& file : test_files()) {
    const std::string stem = file.stem().string();
    CAPTURE(file.string());
    CHECK(std::find(stems.begin(), stems.end(), stem) == stems.end());
    stems.push_back(stem);
    if (file.parent_path().filename() != "fuzz") {
      CHECK(contents(file).find("namespace stepcast::" + stem + " {") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stepcast::test_files_test
