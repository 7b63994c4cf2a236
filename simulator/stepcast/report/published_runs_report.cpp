// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/published_runs_report.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kTeraflop = 1'000'000'000'000;

// "70.6 B"
std::string as_billions(const Value& parameters) {
  constexpr double kBillion = 1e9;
  return decimals(parameters.get<double>() / kBillion, 1) + " B";
}

constexpr auto kPublishedColumns = std::to_array<Column<PublishedRun>>({
    {"id", "run", member<&PublishedRun::id>, as_text, Align::kLeft},
    {"model", "model", member<&PublishedRun::model>, as_text, Align::kLeft},
    {"parameters", "parameters", member<&PublishedRun::parameters>, as_billions},
    {"family", "family", member<&PublishedRun::family>, as_text, Align::kLeft},
    {"gpu", "GPU", member<&PublishedRun::gpu>, as_text, Align::kLeft},
    {"gpus", "GPUs", member<&PublishedRun::gpus>, as_count},
    {"dtype", "format", member<&PublishedRun::dtype>, as_text, Align::kLeft},
    {"software", "software", member<&PublishedRun::software>, as_text, Align::kLeft},
    {"tokens_per_second_per_gpu", "tokens/s/GPU", member<&PublishedRun::tokens_per_second_per_gpu>,
     as_number<1>},
    {"model_tflops_per_gpu", "TFLOP/s/GPU", member_in<kTeraflop, &PublishedRun::model_rate_per_gpu>,
     as_number<1>},
    {"source", "source", member<&PublishedRun::source>, as_text, Align::kLeft},
});
constexpr Columns<PublishedRun> kPublished{kPublishedColumns};

// A published figure has no more digits, and ours of FLOPs must not move with each build.
PublishedRun in_four_digits(PublishedRun run) {
  constexpr int kDigits = 4;
  run.tokens_per_second_per_gpu = rounded_to(run.tokens_per_second_per_gpu, kDigits);
  run.model_rate_per_gpu = FlopsPerSecond(rounded_to(run.model_rate_per_gpu.value(), kDigits));
  return run;
}

}  // namespace

std::string validation_to_published(const std::vector<ValidationRow>& rows) {
  std::set<std::string> files;
  std::vector<std::string> lines;
  for (const ValidationRow* row : timed_once(rows)) {
    if (row->published && !row->published->source.empty()) {
      files.insert(row->file);
      lines.push_back(json_dump(kPublished.json(in_four_digits(*row->published))));
    }
  }
  const std::string source =
      "measured runs with the figures that their sources state, written by "
      "scripts/update_published_runs.sh from tests/validation:" +
      (files.empty() ? "" : " " + text_list(files));
  return "{\n  \"source\": " + json_dump(Value(source)) + ",\n  \"runs\": [" +
         (lines.empty() ? "" : "\n    ") + text_list(lines, ",\n    ") + "\n  ]\n}\n";
}

std::string published_to_text(const std::vector<PublishedRun>& runs) {
  if (runs.empty()) {
    return "";
  }
  return "\nWhat others measured, the nearest first\n" +
         kPublished
             .table(
                 "model parameters gpu gpus dtype software tokens_per_second_per_gpu "
                 "model_tflops_per_gpu "
                 "source",
                 runs)
             .text();
}

nlohmann::ordered_json published_to_json(const std::vector<PublishedRun>& runs) {
  return kPublished.json_rows(runs);
}

}  // namespace stepcast
