// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/report/validation_report.hpp"
#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

// Errors are known no better than this.
std::string thousandths_text(double value) { return fixed_decimal(value, 3); }

std::string json_string(const std::string& text) { return json_dump(nlohmann::json(text)); }

std::string traits_text(const RunTraits& traits) {
  return R"("gpu": )" + json_string(traits.gpu) + R"(, "family": )" +
         json_string(std::string(name(traits.family))) + R"(, "dtype": )" +
         json_string(std::string(name(traits.dtype))) + R"(, "software": )" +
         json_string(traits.software) + R"(, "source": )" + json_string(traits.source);
}

// Runs that differ in the number of their GPUs alone.
struct AlikeRuns {
  std::string gpus;
  std::string errors;

  void add(std::int64_t count, double error) {
    gpus += (gpus.empty() ? "" : ", ") + std::to_string(count);
    errors += (errors.empty() ? "" : ", ") + thousandths_text(error);
  }
};

std::vector<std::string> run_lines(const std::map<std::string, AlikeRuns>& runs) {
  std::vector<std::string> lines;
  lines.reserve(runs.size());
  for (const auto& [traits, alike] : runs) {
    lines.push_back("{" + traits + R"(, "gpus": [)" + alike.gpus + R"(], "errors": [)" +
                    alike.errors + "]}");
  }
  return lines;
}

// One line each.
std::string listed_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "\n    " : ",\n    ") + line;
  }
  return text + "\n  ";
}

}  // namespace

std::string validation_to_accuracy(const std::vector<ValidationRow>& rows) {
  std::map<std::string, std::string> gpus;
  std::set<std::string> files;
  std::map<std::string, AlikeRuns> runs;
  for (const ValidationRow* row : timed_once(rows)) {
    if (row->held_out.value_or(false)) {
      const RunTraits& traits = *row->traits;
      gpus[traits.gpu] = json_string(traits.gpu) + R"(: {"architecture": )" +
                         json_string(traits.architecture) + R"(, "vendor": )" +
                         json_string(traits.vendor) + "}";
      files.insert(row->file);
      runs[traits_text(traits)].add(traits.gpus, std::log(row->rate_factor()));
    }
  }
  std::string source =
      "errors ln(measured / predicted) of the tokens/s of held-out runs, written by "
      "scripts/update_accuracy.sh from the held-out half (validation/held_out.hpp) of "
      "tests/validation:";
  for (const std::string& file : files) {
    source += (file == *files.begin() ? " " : ", ") + file;
  }
  std::vector<std::string> parts;
  parts.reserve(gpus.size());
  for (const auto& [gpu, line] : gpus) {
    parts.push_back(line);
  }
  return "{\n  \"source\": " + json_string(source) + ",\n  \"gpus\": {" + listed_lines(parts) +
         "},\n  \"runs\": [" + listed_lines(run_lines(runs)) + "]\n}\n";
}

}  // namespace stepcast
