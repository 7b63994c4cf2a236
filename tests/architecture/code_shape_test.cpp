// SPDX-License-Identifier: Apache-2.0
// How long functions and files are, and that no header asks for a switch by position.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "architecture/contents.hpp"
#include "catch.hpp"

namespace stepcast::code_shape_test {
namespace {

namespace fs = std::filesystem;
using test::contents;

const fs::path kRoot = STEPCAST_DATA_ROOT;
constexpr int kLongestFunction = 40;  // lines
constexpr int kLongestFile = 600;

std::vector<std::string> product_files() {
  std::vector<std::string> files;
  for (const char* folder : {"simulator", "backends"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".cpp" || extension == ".hpp") {
        files.push_back(fs::relative(entry.path(), kRoot).generic_string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The code without comments, directives and what stands in quotes; its lines stay where they are.
std::string bare_code(const std::string& text) {
  static const std::regex quoted(
      R"re(R"(\w*)\([\s\S]*?\)\1"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|\B'(?:[^'\\]|\\.)+')re"
      R"re(|(?:^|\n)[ \t]*#(?:[^\\\n]|\\\n)*)re");
  std::string code;
  std::size_t at = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), quoted), end; i != end; ++i) {
    const auto begin = static_cast<std::size_t>(i->position());
    code.append(text, at, begin - at);
    const std::string found = i->str();
    code.append(static_cast<std::size_t>(std::count(found.begin(), found.end(), '\n')), '\n');
    at = begin + found.size();
  }
  return code.append(text, at);
}

struct Function {
  int line = 0;
  int lines = 0;
};

// What begins with a brace outside any function.
enum class Opened { kContainer, kFunction, kValue };

Opened opened_by(const std::string& head) {
  static const std::regex container(R"(\b(namespace|class|struct|union|enum)\b[^()]*$)");
  static const std::regex value(R"((^|[^=<>!])=\s*(std::to_array<\w+>\(\s*)?[\w:<>, ]*$)");
  if (std::regex_search(head, container)) {
    return Opened::kContainer;
  }
  const bool is_function = head.find('(') != std::string::npos && !std::regex_search(head, value);
  return is_function ? Opened::kFunction : Opened::kValue;
}

std::vector<Function> functions_of(const std::string& code) {
  struct Open {
    Opened kind;
    int line;
  };
  std::vector<Open> open;
  std::vector<Function> functions;
  std::string head;  // what was written since the last declaration ended
  int line = 1;
  int first = 1;  // line of the head
  for (const char c : code) {
    const bool outside = open.empty() || open.back().kind == Opened::kContainer;
    if (c == '{') {
      open.push_back({outside ? opened_by(head) : Opened::kValue, first});
      head.clear();
    } else if (c == '}') {
      REQUIRE_FALSE(open.empty());
      if (open.back().kind == Opened::kFunction) {
        functions.push_back({open.back().line, line - open.back().line + 1});
      }
      open.pop_back();
      head.clear();
    } else if (c == ';' && outside) {
      head.clear();
    } else if (outside && !(head.empty() && (c == ' ' || c == '\n'))) {
      first = head.empty() ? line : first;
      head += c;
    }
    line += c == '\n' ? 1 : 0;
  }
  return functions;
}

TEST_CASE("functions are found with their lines", "[architecture]") {
  const std::vector<Function> functions =
      functions_of(bare_code("namespace a {\n"
                             "constexpr int kValues[] = {1, 2};  // not {\n"
                             "constexpr auto kMore = std::to_array<int>({3});\n"
                             "int f(int x) {\n"
                             "  if (x > '{') {\n"
                             "    return 1;\n"
                             "  }\n"
                             "  return \"{\"[0];\n"
                             "}\n"
                             "struct S {\n"
                             "  int g() const { return 1; }\n"
                             "};\n"
                             "}\n"));
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].line == 4);
  CHECK(functions[0].lines == 6);
  CHECK(functions[1].line == 11);
  CHECK(functions[1].lines == 1);
}

TEST_CASE("no function is longer than 40 lines, and no file than 600", "[architecture]") {
  std::size_t functions = 0;
  for (const std::string& file : product_files()) {
    const std::string text = contents(kRoot / file);
    CAPTURE(file);
    CHECK(std::count(text.begin(), text.end(), '\n') <= kLongestFile);
    for (const Function& function : functions_of(bare_code(text))) {
      CAPTURE(function.line);
      CHECK(function.lines <= kLongestFunction);
      ++functions;
    }
  }
  CHECK(functions > 2000);
}

TEST_CASE("no header has a parameter that is a bare bool", "[architecture]") {
  const std::regex parameter(R"([(,]\s*(const\s+)?bool\s+\w+\s*(=\s*\w+)?\s*(?=[,)]))");
  for (const std::string& file : product_files()) {
    if (file.ends_with(".hpp")) {
      const std::string code = bare_code(contents(kRoot / file));
      const std::sregex_iterator first(code.begin(), code.end(), parameter);
      CAPTURE(file);
      CHECK(std::distance(first, std::sregex_iterator()) <= 0);
    }
  }
}

std::set<std::string> names_found(const std::string& code, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator i(code.begin(), code.end(), pattern), end; i != end; ++i) {
    names.insert((*i)[1].str());
  }
  return names;
}

// Files of a folder are compiled together, in groups that change when a file is added.
TEST_CASE("no constant of a function hides one of another file of its folder", "[architecture]") {
  const std::regex of_file(R"((?:^|\n)(?:inline )?constexpr [^=({;\n]*\b(k[A-Z]\w*))");
  const std::regex of_function(R"(\n +constexpr [^=({;\n]*\b(k[A-Z]\w*))");
  std::map<std::string, std::set<std::string>> of_folder;
  for (const std::string& file : product_files()) {
    of_folder[fs::path(file).parent_path().string()].merge(
        names_found(bare_code(contents(kRoot / file)), of_file));
  }
  for (const std::string& file : product_files()) {
    const std::set<std::string>& beside = of_folder[fs::path(file).parent_path().string()];
    for (const std::string& name : names_found(bare_code(contents(kRoot / file)), of_function)) {
      CAPTURE(file, name);
      CHECK(!beside.contains(name));
    }
  }
}

}  // namespace
}  // namespace stepcast::code_shape_test
