// SPDX-License-Identifier: Apache-2.0
// What is read and written is the same in every locale that a program with the library in it sets.
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "architecture/contents.hpp"
#include "catch.hpp"

namespace stepcast::locale_test {
namespace {

namespace fs = std::filesystem;

// Calls whose result hangs on the locale. Whole numbers of printf do not.
std::vector<std::string> calls_of(const std::string& text) {
  static const std::regex comment("//[^\n]*");
  static const std::regex call(
      "\\b(strto[dfl]d?|sto[df]|stold|atof|sscanf|toupper|tolower|strcoll|"
      "is(?:alpha|alnum|digit|space|blank|upper|lower|print|graph|punct|xdigit|cntrl))\\(|"
      "printf\\([^;]*%[-+ #0-9.*]*l?[aefgAEFG]");
  std::vector<std::string> found;
  const std::string code = std::regex_replace(text, comment, "");
  for (std::sregex_iterator i(code.begin(), code.end(), call), end; i != end; ++i) {
    found.push_back((*i)[0]);
  }
  return found;
}

TEST_CASE("a call that hangs on the locale is found", "[architecture]") {
  CHECK(calls_of("std::strtod(text, nullptr)").size() == 1);
  CHECK(calls_of("return std::stod(match[1]) * std::stof(match[2]);").size() == 2);
  CHECK(calls_of("std::isalnum(c) != 0 || std::tolower(c)").size() == 2);
  CHECK(calls_of("std::snprintf(text.data(), 8, \"%d %.1f\", a, b);").size() == 1);
  CHECK(calls_of("std::snprintf(text.data(), 8, \"%02d\", a); f(\"10 % free\");").empty());
  CHECK(calls_of("std::strtoll(text, nullptr, 10); ascii::is_digit(c)  // tolower(").empty());
}

TEST_CASE("no source of the simulator or a backend hangs on the locale", "[architecture]") {
  std::size_t files = 0;
  for (const char* folder : {"simulator", "backends"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(STEPCAST_DATA_ROOT) / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp") {
        ++files;
        CAPTURE(entry.path().string());
        CHECK(calls_of(test::contents(entry.path())).empty());
      }
    }
  }
  CHECK(files > 100);
}

// What a text means is told by a key of its record or by the few words that are looked for; a
// regular expression hangs on the locale besides, and recurses as deep as its text is long.
TEST_CASE("no source of the simulator or a backend has a regular expression", "[architecture]") {
  for (const char* folder : {"simulator", "backends"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(STEPCAST_DATA_ROOT) / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp") {
        CAPTURE(entry.path().string());
        const std::string text = test::contents(entry.path());
        CHECK(text.find("<regex>") == std::string::npos);
        CHECK(text.find("std::regex") == std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace stepcast::locale_test
