// SPDX-License-Identifier: Apache-2.0
// Behaviour hangs on types: no rule of the simulator compares what something is called.
//
// Names are read from files and printed by tables. Only these tables know them; everything else
// compares the enumerations and the flags that they stand for. A new subject (titles, vendors, GPU
// names) is a row of kSubjects.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace stepcast::identities_test {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string what;
  std::regex forbidden;             // in a line of code, comments left out
  std::vector<std::string> tables;  // files that print or read the names
};

const std::string kCompared = R"(\s*(==|!=|\.starts_with\(|\.ends_with\(|\.find\(|\.contains\())";

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> rows = {
      {"the printed name of an operator or of a tensor",
       std::regex(
           R"re("(attention|mlp|moe|experts|shared_expert|head|mtp|fsdp|dp|tp|gradient)\.[a-z_.]*")re"),
       {"simulator/stepcast/model/op_id.hpp", "simulator/stepcast/layer/saved_tensor.hpp"}},
      {"a comparison of an operator's printed name",
       std::regex(R"(\bname\((op|[a-z_.\[\]]*\.op|[a-z_]+\[[a-z]+\])\.id\))" + kCompared),
       {}},
      {"a comparison of a name",
       std::regex(R"((\.|->)name)" + kCompared),
       {// What is written is looked up in a table of what may be written.
        "simulator/stepcast/base/dtype.hpp", "simulator/stepcast/config/mapping_reader.hpp",
        "simulator/stepcast/sweep/constraint_expression.cpp", "backends/builtin_backends.cpp",
        // Keys of a framework's file and the kinds of a list are found by what they are called.
        "simulator/frameworks/", "simulator/stepcast/api/listings.cpp",
        // A model that a file holds is given back by its name only if it has one.
        "simulator/stepcast/experiment/experiment.cpp",
        // Events of a profiler have no other sign of what they are.
        "simulator/trace_reader/trace_recording.cpp", "simulator/trace_reader/nsys_export.cpp",
        "simulator/trace_reader/rocpd_database.cpp", "simulator/trace_reader/stored_events.cpp",
        "simulator/trace_reader/nvtx_names.cpp", "simulator/trace_reader/nvtx_payloads.cpp"}},
  };
  return rows;
}

struct Line {
  std::string file;
  std::size_t number = 0;
  std::string text;
};

std::string without_comment(const std::string& line) {
  const std::size_t comment = line.find("//");
  return comment == std::string::npos ? line : line.substr(0, comment);
}

const std::vector<Line>& product_lines() {
  static const std::vector<Line> lines = [] {
    const fs::path root = STEPCAST_DATA_ROOT;
    std::vector<Line> all;
    for (const char* folder : {"simulator", "backends"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const fs::path extension = entry.path().extension();
        if (extension != ".cpp" && extension != ".hpp") {
          continue;
        }
        std::ifstream stream(entry.path());
        std::size_t number = 0;
        for (std::string text; std::getline(stream, text);) {
          const std::string file = fs::relative(entry.path(), root).generic_string();
          all.push_back({file, ++number, without_comment(text)});
        }
      }
    }
    return all;
  }();
  return lines;
}

// A table is a file, or a folder of them that ends with a slash.
bool is_of(const std::string& file, const std::string& table) {
  return table == file || (table.ends_with('/') && file.starts_with(table));
}

bool reads_or_prints(const Subject& subject, const std::string& file) {
  return std::any_of(subject.tables.begin(), subject.tables.end(),
                     [&file](const std::string& table) { return is_of(file, table); });
}

TEST_CASE("no rule hangs on what something is called", "[architecture]") {
  REQUIRE(product_lines().size() > 10'000);
  for (const Subject& subject : subjects()) {
    CAPTURE(subject.what);
    for (const Line& line : product_lines()) {
      if (reads_or_prints(subject, line.file) || !std::regex_search(line.text, subject.forbidden)) {
        continue;
      }
      CAPTURE(line.file, line.number, line.text);
      CHECK(false);
    }
  }
}

TEST_CASE("a comparison of names would be found", "[architecture]") {
  const auto found = [](const std::string& text) {
    return std::any_of(subjects().begin(), subjects().end(), [&](const Subject& subject) {
      return std::regex_search(without_comment(text), subject.forbidden);
    });
  };
  CHECK(found(R"(if (op.name == other) {)"));
  CHECK(found(R"(return op.name.starts_with("mlp.");)"));
  CHECK(found(R"(if (name(op.id) == "router") {)"));
  CHECK(found(R"(return name(ops[i].id).starts_with(block);)"));
  CHECK(found(R"(keep_all_of("moe.");)"));
  CHECK(found(R"(build.projection("attention.q_up", rows);)"));
  CHECK_FALSE(found(R"(json["name"] = name(op.id);)"));
  CHECK_FALSE(found(R"(if (op.id == OpId::kMlpDown) {)"));
  CHECK_FALSE(found(R"(// as "mlp.down" prints)"));
}

// A table that is gone, or that knows no names any more, is taken off the list.
TEST_CASE("every table that may compare or state names does so", "[architecture]") {
  for (const Subject& subject : subjects()) {
    for (const std::string& table : subject.tables) {
      CAPTURE(subject.what, table);
      CHECK(std::any_of(product_lines().begin(), product_lines().end(), [&](const Line& line) {
        return is_of(line.file, table) && std::regex_search(line.text, subject.forbidden);
      }));
    }
  }
}

}  // namespace
}  // namespace stepcast::identities_test
