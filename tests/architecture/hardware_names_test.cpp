// SPDX-License-Identifier: Apache-2.0
// No GPU, architecture or vendor decides anything by its name: what differs between parts is data.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "catch.hpp"
#include "sample_specs.hpp"

namespace stepcast::hardware_names_test {
namespace {

namespace fs = std::filesystem;

// The names that files of profiles have, and those that people give to parts.
std::vector<std::string> hardware_names() {
  std::vector<std::string> names = {"amd", "nvidia", "ampere", "hopper", "blackwell", "cdna"};
  for (const fs::path& folder : {test::data_root().gpus(), test::data_root().architectures(),
                                 test::data_root().clusters()}) {
    const std::vector<std::string> files = names_in(folder);
    names.insert(names.end(), files.begin(), files.end());
  }
  return names;
}

// Literals outside of comments that are a name or begin one: "sm90", "h100_sxm", "sm10".
std::vector<std::string> literals_of(const std::string& text,
                                     const std::vector<std::string>& names) {
  static const std::regex comment("//[^\n]*");
  static const std::regex literal("\"([a-z0-9_]+)\"");
  static const std::regex architecture("(?:sm_?|gfx)[0-9]+[a-z]?");
  std::vector<std::string> found;
  const std::string code = std::regex_replace(text, comment, "");
  for (std::sregex_iterator i(code.begin(), code.end(), literal), end; i != end; ++i) {
    const std::string word = (*i)[1];
    if (std::regex_match(word, architecture) ||
        std::find(names.begin(), names.end(), word) != names.end()) {
      found.push_back(word);
    }
  }
  return found;
}

TEST_CASE("a comparison with the name of a part is found", "[architecture]") {
  const std::vector<std::string> names = hardware_names();
  CHECK(literals_of("if (architecture == \"sm90\") {", names) == std::vector<std::string>{"sm90"});
  CHECK(literals_of("architecture.starts_with(\"sm10\")", names) ==
        std::vector<std::string>{"sm10"});
  CHECK(literals_of("device.name != \"h200_sxm\"", names) == std::vector<std::string>{"h200_sxm"});
  CHECK(literals_of("vendor == \"amd\"", names) == std::vector<std::string>{"amd"});
  CHECK(literals_of("reader.mapping(\"gemm\")", names).empty());
  CHECK(literals_of("int ranks = 8;  // as \"h200_sxm\" has", names).empty());
}

// Readers of measurements name the machines that other people's files speak of.
TEST_CASE("no source of the simulator or a backend names a part", "[architecture]") {
  const std::vector<std::string> names = hardware_names();
  const fs::path root = test::data_root().folder;
  std::size_t files = 0;
  for (const char* folder : {"simulator/stepcast", "simulator/cli", "backends"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().generic_string();
      const fs::path extension = entry.path().extension();
      const bool source = extension == ".cpp" || extension == ".hpp";
      if (!source || path.find("/validation/") != std::string::npos) {
        continue;
      }
      ++files;
      CAPTURE(path);
      CHECK(literals_of(read_file(entry.path()), names).empty());
    }
  }
  CHECK(files > 100);
}

}  // namespace
}  // namespace stepcast::hardware_names_test
