// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "catch.hpp"
#include "fuzz/targets.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

struct Target {
  const char* name;
  int (*run)(const std::uint8_t*, std::size_t);
};
constexpr std::array kTargets = {
    Target{"config", fuzz::fuzz_config},     Target{"model", fuzz::fuzz_model},
    Target{"quantity", fuzz::fuzz_quantity}, Target{"layout", fuzz::fuzz_layout},
    Target{"operator", fuzz::fuzz_operator}, Target{"record", fuzz::fuzz_record},
    Target{"table", fuzz::fuzz_table},       Target{"trace", fuzz::fuzz_trace},
    Target{"sweep", fuzz::fuzz_sweep},       Target{"part", fuzz::fuzz_part}};

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

int replay(const Target& target, const fs::path& folder) {
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
  const fs::path fuzz = fs::path(STEPCAST_DATA_ROOT) / "tests/fuzz";
  for (const Target& target : kTargets) {
    CAPTURE(target.name);
    CHECK(replay(target, fuzz / "corpus" / target.name) > 0);
    replay(target, fuzz / "regressions" / target.name);
  }
}

}  // namespace
}  // namespace stepcast
