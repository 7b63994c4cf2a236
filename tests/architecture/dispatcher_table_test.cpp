// SPDX-License-Identifier: Apache-2.0
// A dispatcher is one file and one row: no other code knows one of them.
#include <filesystem>
#include <regex>
#include <string>

#include "architecture/contents.hpp"
#include "catch.hpp"
#include "stepcast/hardware/dispatcher.hpp"

namespace stepcast::dispatcher_table_test {
namespace {

namespace fs = std::filesystem;
using test::contents;

const fs::path kRoot = STEPCAST_DATA_ROOT;

// The files of dispatchers themselves, the key `deepep: true`, and readers of foreign names.
bool may_name_dispatchers(const std::string& file) {
  return file.find("/dispatchers/") != std::string::npos ||
         file.find("/importers/") != std::string::npos ||
         file.find("/frameworks/") != std::string::npos || file.ends_with("/software_spec.cpp");
}

TEST_CASE("no code outside of the dispatchers' own files names one", "[architecture]") {
  // What the collectives' library can do for every dispatcher, alltoall, is the default.
  const std::regex named(R"(\bDispatcher::k(?!AllToAll\b)[A-Z]\w*)");
  for (const char* folder : {"simulator", "backends"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string file = entry.path().generic_string();
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") {
        continue;
      }
      const std::string text = contents(entry.path());
      std::smatch match;
      CAPTURE(file);
      CHECK((may_name_dispatchers(file) || !std::regex_search(text, match, named)));
    }
  }
}

TEST_CASE("every dispatcher has its file and its line in the README", "[architecture]") {
  const std::string readme = contents(kRoot / "simulator/stepcast/dispatchers/README.md");
  for (const std::string_view name : names_of<Dispatcher>()) {
    const std::string file = std::string(name) + ".cpp";
    CAPTURE(file);
    CHECK(fs::exists(kRoot / "simulator/stepcast/dispatchers" / file));
    CHECK(readme.find('`' + file + '`') != std::string::npos);
  }
}

}  // namespace
}  // namespace stepcast::dispatcher_table_test
