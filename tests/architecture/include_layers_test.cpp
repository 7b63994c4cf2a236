// SPDX-License-Identifier: Apache-2.0
// The shape of the source tree: includes point one way, and no file is forgotten.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "architecture/contents.hpp"
#include "catch.hpp"

namespace stepcast::include_layers_test {
namespace {

namespace fs = std::filesystem;
using test::contents;

const fs::path kRoot = STEPCAST_DATA_ROOT;

// A layer may include itself and layers of a smaller rank; layers of equal rank are strangers.
struct Layer {
  std::string_view name;
  int rank;
};
constexpr std::array kLayers = {
    Layer{"base", 0},        Layer{"config", 1},        Layer{"hardware", 2},
    Layer{"model", 3},       Layer{"plan", 4},          Layer{"layer", 5},
    Layer{"pipeline", 6},    Layer{"memory", 7},        Layer{"settle", 8},
    Layer{"cost", 8},        Layer{"dispatchers", 9},   Layer{"operator_lines", 9},
    Layer{"backends", 10},   Layer{"schedule", 10},     Layer{"result", 11},
    Layer{"experiment", 12}, Layer{"diagnosis", 13},    Layer{"sweep", 13},
    Layer{"validation", 13}, Layer{"trace_writer", 13}, Layer{"trace_reader", 14},
    Layer{"frameworks", 14}, Layer{"calibration", 14},  Layer{"importers", 15},
    Layer{"report", 15},     Layer{"api", 16},          Layer{"pages", 16},
    Layer{"cli", 17},        Layer{"python", 17}};

std::optional<int> rank_of(const std::string& layer) {
  for (const Layer& known : kLayers) {
    if (known.name == layer) {
      return known.rank;
    }
  }
  return std::nullopt;
}

// Sources below `folder` of the repository, sorted.
std::vector<fs::path> sources(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const fs::path extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".cpp" || extension == ".hpp")) {
      files.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> product_sources() {
  std::vector<fs::path> files = sources("simulator");
  const std::vector<fs::path> backends = sources("backends");
  files.insert(files.end(), backends.begin(), backends.end());
  return files;
}

// The headers that are installed.
constexpr std::array<std::string_view, 3> kPublic = {"stepcast/stepcast.hpp",
                                                     "stepcast/answers.hpp", "stepcast/inputs.hpp"};
bool is_public(const std::string& include) {
  return std::find(kPublic.begin(), kPublic.end(), include) != kPublic.end();
}

// "stepcast/cost/x.hpp" -> cost; "backends/gemm/x.cpp" -> backends; "cli/x.cpp" -> cli,
// "importers/x.cpp" -> importers, as of frameworks, pages and trace_reader; the public header and
// its source are of the layer `api`; empty for headers of others.
std::string layer_of_include(const std::string& path) {
  const std::regex inside(
      R"((?:stepcast/([a-z_]+)|(backends|cli|importers|frameworks|trace_reader|python|pages))/.*)");
  std::smatch match;
  if (path.starts_with("stepcast/stepcast.") || is_public(path)) {
    return "api";
  }
  if (std::regex_match(path, match, inside)) {
    return match[1].matched ? match[1] : match[2];
  }
  return "";
}

std::string layer_of_file(const fs::path& file) {
  const std::string path = file.generic_string();
  const std::string start = "simulator/";
  return layer_of_include(path.starts_with(start) ? path.substr(start.size()) : path);
}

std::vector<std::string> quoted_includes(const fs::path& file) {
  const std::string text = contents(kRoot / file);
  const std::regex include(R"re((?:^|\n)\s*#\s*include\s*["<]([^">]+)[">])re");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i) {
    found.push_back((*i)[1]);
  }
  return found;
}

bool allowed(const std::string& from, const std::string& to) {
  if (from == to) {
    return true;
  }
  if (to == "backends") {
    return from == "api";  // the simulator is passed backends
  }
  if (to == "frameworks" && from == "importers") {
    return true;  // runs that were published were launched by files of frameworks
  }
  if (from == "report" && (to == "calibration" || to == "trace_reader")) {
    return true;  // it prints what they find
  }
  if (to == "importers" || to == "frameworks" || to == "calibration") {
    return from == "api";  // the simulator is passed importers, and is not fitted
  }
  if (to == "pages") {
    return from == "api";
  }
  if (to == "trace_reader") {
    return from == "importers" || from == "api";
  }
  const std::optional<int> a = rank_of(from);
  const std::optional<int> b = rank_of(to);
  return a && b && *b < *a;
}

TEST_CASE("the rule allows what points down and refuses what points up", "[architecture]") {
  CHECK(allowed("cost", "model"));
  CHECK(allowed("experiment", "result"));
  CHECK(allowed("report", "experiment"));
  CHECK(allowed("report", "validation"));
  CHECK(allowed("report", "trace_reader"));
  CHECK(allowed("api", "backends"));
  CHECK_FALSE(allowed("cli", "backends"));
  CHECK(allowed("backends", "cost"));
  CHECK_FALSE(allowed("backends", "experiment"));
  CHECK_FALSE(allowed("backends", "sweep"));
  CHECK_FALSE(allowed("backends", "validation"));
  CHECK_FALSE(allowed("plan", "layer"));
  CHECK_FALSE(allowed("cost", "operator_lines"));
  CHECK(allowed("backends", "operator_lines"));
  CHECK_FALSE(allowed("experiment", "report"));
  CHECK_FALSE(allowed("sweep", "report"));
  CHECK_FALSE(allowed("validation", "report"));
  CHECK_FALSE(allowed("trace_reader", "report"));
  CHECK_FALSE(allowed("importers", "report"));
  CHECK_FALSE(allowed("result", "experiment"));
  CHECK_FALSE(allowed("experiment", "backends"));
  CHECK_FALSE(allowed("validation", "importers"));
  CHECK_FALSE(allowed("backends", "importers"));
  CHECK_FALSE(allowed("validation", "trace_reader"));
  CHECK_FALSE(allowed("trace_reader", "importers"));
  CHECK(allowed("trace_reader", "experiment"));
  CHECK(allowed("importers", "trace_reader"));
  CHECK(allowed("importers", "frameworks"));
  CHECK_FALSE(allowed("frameworks", "importers"));
  CHECK_FALSE(allowed("validation", "frameworks"));
  CHECK(allowed("importers", "validation"));
  CHECK(allowed("calibration", "validation"));
  CHECK(allowed("api", "calibration"));
  CHECK_FALSE(allowed("cli", "calibration"));
  CHECK_FALSE(allowed("validation", "calibration"));
  CHECK_FALSE(allowed("backends", "calibration"));
  CHECK(allowed("api", "pages"));
  CHECK(allowed("pages", "sweep"));
  CHECK_FALSE(allowed("report", "pages"));
  CHECK_FALSE(allowed("python", "pages"));
  CHECK_FALSE(allowed("base", "unheard_of"));
}

TEST_CASE("a file includes its own layer and lower ones only", "[architecture]") {
  const std::vector<fs::path> files = product_sources();
  REQUIRE(files.size() > 50);
  for (const fs::path& file : files) {
    const std::string from = layer_of_file(file);
    CAPTURE(file.string());
    CHECK(rank_of(from).has_value());
    for (const std::string& include : quoted_includes(file)) {
      const std::string to = layer_of_include(include);
      if (!to.empty()) {
        CAPTURE(include);
        CHECK(allowed(from, to));
      }
    }
  }
}

TEST_CASE("a header of the product is included by its path from an include root",
          "[architecture]") {
  for (const fs::path& file : product_sources()) {
    const std::string text = contents(kRoot / file);
    CAPTURE(file.string());
    CHECK(text.find("#include \"../") == std::string::npos);
    for (const std::string& include : quoted_includes(file)) {
      if (include.starts_with("stepcast/") || include.starts_with("cli/") ||
          include.starts_with("importers/") || include.starts_with("frameworks/") ||
          include.starts_with("trace_reader/") || include.starts_with("pages/")) {
        CAPTURE(include);
        CHECK(fs::exists(kRoot / "simulator" / include));
      }
    }
  }
}

// Whether a CMakeLists.txt above `file` lists it by its path from there.
bool is_listed(const fs::path& file) {
  for (fs::path folder = file.parent_path();; folder = folder.parent_path()) {
    const fs::path lists = kRoot / folder / "CMakeLists.txt";
    if (fs::exists(lists)) {
      const std::string path = fs::relative(file, folder.empty() ? "." : folder).generic_string();
      const std::string text = contents(lists);
      const std::regex word("(^|[\\s(])" + std::regex_replace(path, std::regex("[.]"), "[.]") +
                            "($|[\\s)])");
      if (std::regex_search(text, word)) {
        return true;
      }
    }
    if (folder.empty()) {
      return false;
    }
  }
}

TEST_CASE("every source is listed in a CMakeLists.txt", "[architecture]") {
  std::vector<fs::path> files = product_sources();
  const std::vector<fs::path> tests = sources("tests");
  files.insert(files.end(), tests.begin(), tests.end());
  for (const fs::path& file : files) {
    if (file.extension() == ".cpp") {
      CAPTURE(file.string());
      CHECK((is_listed(file) || file.filename() == "entry.cpp"));  // listed under STEPCAST_FUZZ
    }
  }
}

TEST_CASE("every source names its licence, and every header guards itself", "[architecture]") {
  for (const fs::path& file : product_sources()) {
    const std::string text = contents(kRoot / file);
    CAPTURE(file.string());
    CHECK(text.starts_with("// SPDX-License-Identifier: "));
    if (file.extension() == ".hpp") {
      CHECK(text.find("#pragma once") != std::string::npos);
    }
  }
}

TEST_CASE("nothing below the command line prints, exits or asks the environment",
          "[architecture]") {
  const std::regex forbidden(
      R"(std::(cout|cerr|clog|exit|abort|getenv)\b|\bprintf\(|<iostream>|spdlog)");
  for (const fs::path& file : product_sources()) {
    if (layer_of_file(file) == "cli") {
      continue;
    }
    const std::string text = contents(kRoot / file);
    std::smatch match;
    CAPTURE(file.string());
    CHECK_FALSE(std::regex_search(text, match, forbidden));
  }
}

TEST_CASE("every layer has a row in the table of the simulator's README", "[architecture]") {
  const std::string text = contents(kRoot / "simulator/README.md");
  for (const auto& entry : fs::directory_iterator(kRoot / "simulator/stepcast")) {
    if (entry.is_directory()) {
      const std::string layer = entry.path().filename().string();
      CAPTURE(layer);
      CHECK(rank_of(layer).has_value());
      CHECK(text.find("| `" + layer + "/` |") != std::string::npos);
    }
  }
}

TEST_CASE("public headers need no other header of the product", "[architecture]") {
  const std::string installed = contents(kRoot / "CMakeLists.txt");
  for (const std::string_view header : kPublic) {
    CHECK(installed.find("simulator/" + std::string(header)) != std::string::npos);
    for (const std::string& include : quoted_includes("simulator/" + std::string(header))) {
      CAPTURE(header, include);
      CHECK((include.find('/') == std::string::npos || is_public(include)));
    }
  }
}

// What the program includes behind the front door, and why: nothing of it simulates.
struct BehindTheDoor {
  std::string_view header;
  std::string_view reason;
};
constexpr std::array kBehindTheDoor = {
    BehindTheDoor{"stepcast/base/ascii.hpp", "letters of messages, whatever the locale"},
    BehindTheDoor{"stepcast/base/decimal_text.hpp", "numbers of the progress bar"},
    BehindTheDoor{"stepcast/base/each_of.hpp", "lists of what options and commands are called"},
    BehindTheDoor{"stepcast/base/error.hpp", "problems of options are told as those of files"},
    BehindTheDoor{"stepcast/base/option_keys.hpp", "options set the same keys wherever they stand"},
    BehindTheDoor{"stepcast/base/nearest_name.hpp", "the nearest word to an option"},
    BehindTheDoor{"stepcast/base/printable.hpp", "control characters on a terminal"},
    BehindTheDoor{"stepcast/base/text_list.hpp", "words of a command line one behind the other"},
    BehindTheDoor{"stepcast/base/units_text.hpp", "numbers of options as reports have them"},
    BehindTheDoor{"stepcast/config/value_message.hpp", "a number of an option is one of a file"},
    BehindTheDoor{"stepcast/config/scalar.hpp", "a number of an option is one of a file"},
    BehindTheDoor{"stepcast/config/config_node.hpp",
                  "inputs are read to see which files they name"},
    BehindTheDoor{"stepcast/sweep/file_fault.hpp", "faults of the disk have one wording"},
};

TEST_CASE("the program and Python use the front door", "[architecture]") {
  std::vector<std::string> unused;
  for (const BehindTheDoor& known : kBehindTheDoor) {
    unused.emplace_back(known.header);
  }
  for (const std::string folder : {"cli", "python"}) {
    for (const fs::path& file : sources("simulator/" + folder)) {
      for (const std::string& include : quoted_includes(file)) {
        if (layer_of_include(include).empty() || include.starts_with(folder + "/")) {
          continue;  // of others, or its own
        }
        const bool known = std::any_of(
            kBehindTheDoor.begin(), kBehindTheDoor.end(),
            [&include](const BehindTheDoor& behind) { return behind.header == include; });
        CAPTURE(file.string(), include);
        CHECK((include == kPublic.front() || (known && folder == "cli")));
        std::erase(unused, include);
      }
    }
  }
  CHECK(unused.empty());
}

TEST_CASE("every layer has its tests in a folder of the same name", "[architecture]") {
  for (const Layer& layer : kLayers) {
    const std::string name(layer.name);
    CAPTURE(name);
    // The program and the Python package are tested as their users run them.
    const bool run = name == "cli" || name == "python";
    const fs::path folder = kRoot / "tests" / (run ? "" : "unit") / name;
    CHECK((fs::exists(folder) && !fs::is_empty(folder)));
  }
}

}  // namespace

}  // namespace stepcast::include_layers_test
