// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "catch.hpp"
#include "fuzz/targets.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

int replay(const fuzz::Target& target, const fs::path& folder) {
  int replayed = 0;
  if (!fs::exists(folder)) {
    return replayed;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::vector<std::uint8_t> bytes = bytes_of(entry.path());
    CAPTURE(entry.path().string());
    CHECK_NOTHROW(target.run(bytes.data(), bytes.size()));
    ++replayed;
  }
  return replayed;
}

TEST_CASE("the fuzzers' seeds and everything that once crashed are handled", "[property]") {
  const fs::path inputs = fs::path(STEPCAST_DATA_ROOT) / "tests/fuzz";
  for (const fuzz::Target& target : fuzz::kTargets) {
    CAPTURE(target.name);
    CHECK(replay(target, inputs / "corpus" / target.name) > 0);
    replay(target, inputs / "regressions" / target.name);
  }
}

}  // namespace
}  // namespace stepcast
