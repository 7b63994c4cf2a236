// SPDX-License-Identifier: Apache-2.0
// What the readers of profiles know of each constant is what hardware_profiles/README.md prints,
// and what scaling a cluster and describing a GPU go by.
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "sample_specs.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::constants_readme_test {
namespace {

using test::data_root;

std::string readme() {
  std::ifstream stream(data_root().folder / "hardware_profiles/README.md");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string text_of(Range<double> range) {
  return shortest_text(range.lowest) + " to " + shortest_text(range.highest);
}

std::string searched_text(const ConstantInfo& constant) {
  std::string text = constant.searched ? text_of(*constant.searched) : "";
  for (const FormatSearch& format : constant.formats) {
    text +=
        (text.empty() ? "" : ", ") + std::string(name(format.dtype)) + " " + text_of(format.range);
  }
  return text.empty() ? "-" : text;
}

std::string factor_text(const ConstantInfo& constant) {
  for (const ScaleFactor& known : kScaleFactors) {
    if (constant.scales_with == known.factor) {
      return std::string(known.name);
    }
  }
  return "-";
}

// The rows of those whose place begins with `section`, by what follows it.
std::string table_of(const std::vector<PlacedConstant>& placed, const std::string& section) {
  std::string text =
      "| key | unit | range | fitted within | scales with | meaning |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [key, constant] : placed) {
    if (key.starts_with(section)) {
      const std::string unit(constant->unit.empty() ? "number" : constant->unit);
      text += "| `" + key.substr(section.size()) + "` | " + unit + " | " +
              text_of(constant->range) + " | " + searched_text(*constant) + " | " +
              factor_text(*constant) + " | " + std::string(constant->meaning) + " |\n";
    }
  }
  return text;
}

void check_printed(const std::string& table) {
  INFO("hardware_profiles/README.md needs this table:\n" << table);
  CHECK(readme().find("\n\n" + table + "\n") != std::string::npos);
}

TEST_CASE("the README prints the constants as their tables have them", "[unit]") {
  check_printed(table_of(placed_constants(ProfileFolder::kGpus), ""));
  const std::vector<PlacedConstant> kernels = placed_constants(ProfileFolder::kKernels);
  for (const char* section : {"power.", "gemm.", "attention.", "memory_bound."}) {
    check_printed(table_of(kernels, section));
  }
  const std::vector<PlacedConstant> architectures = placed_constants(ProfileFolder::kArchitectures);
  check_printed(table_of(architectures, "attention_kernels.flash2.forward."));
  const std::string all = table_of(architectures, "attention_kernels.flash2.");
  const std::size_t own = all.find("| `reduction_element`");
  check_printed(all.substr(0, all.find("| `forward.")) + all.substr(own));
  check_printed(table_of(placed_constants(ProfileFolder::kCollectives), ""));
  check_printed(table_of(placed_constants(ProfileFolder::kHosts), ""));
  check_printed(table_of(placed_constants(ProfileFolder::kLibraries), ""));
  const std::string exchange = table_of(placed_constants(Dispatcher::kDeepEp), "deepep.");
  check_printed(exchange.substr(0, exchange.find("| `dispatch.")));
  check_printed(table_of(placed_constants(Dispatcher::kDeepEp), "deepep.dispatch."));
}

TEST_CASE("the README prints the factors of a cluster's scale", "[unit]") {
  std::string table = "| factor | of |\n| --- | --- |\n";
  for (const ScaleFactor& known : kScaleFactors) {
    table += "| `" + std::string(known.name) + "` | " + std::string(known.meaning) + " |\n";
  }
  check_printed(table);
}

TEST_CASE("every constant says what it is, once, and where a fit may look inside its range",
          "[unit]") {
  for (const ProfileFolder folder :
       {ProfileFolder::kGpus, ProfileFolder::kKernels, ProfileFolder::kArchitectures,
        ProfileFolder::kCollectives, ProfileFolder::kExchange, ProfileFolder::kHosts,
        ProfileFolder::kLibraries}) {
    std::set<std::string> keys;
    for (const auto& [key, constant] : placed_constants(folder)) {
      CAPTURE(key);
      CHECK(keys.insert(key).second);
      CHECK_FALSE(constant->meaning.empty());
      CHECK(meaning_of(key) == constant->meaning);
      if (constant->searched) {
        CHECK(constant->searched->lowest >= constant->range.lowest);
        CHECK(constant->searched->highest <= constant->range.highest);
      }
    }
  }
}

TEST_CASE("a description of a GPU says what each described number is", "[unit]") {
  const std::string text = Simulator(data_root().folder).describe("h200_sxm");
  const auto follows = [&](const std::string& key, const std::string& meaning) {
    const std::size_t at = text.find("\n  " + key + " ");
    REQUIRE(at != std::string::npos);
    const std::size_t line = text.find('\n', at + 1);
    CHECK(text.substr(line + 1, text.find('\n', line + 1) - line - 1) ==
          "      meaning: " + meaning);
  };
  follows("message.own_rate", "at which a rank copies its own part of an all-to-all");
  follows("deepep.combine.row_rate", "of a unit, over the rows");
  follows("gemm.matrix_efficiency.bf16", "share of the matrix rate inside the K loop");
  follows("scale_out.nic_rate", "of one NIC, wire rate");
}

}  // namespace
}  // namespace stepcast::constants_readme_test
