// SPDX-License-Identifier: Apache-2.0
// Whether a plan can run is said by numbers, words, pages and exit codes, and all say the same.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "property/draws.hpp"
#include "property/varied_experiments.hpp"
#include "stepcast/api/chosen_backends.hpp"
#include "stepcast/api/job.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/report/comparison_report.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast::verdict_property_test {
namespace {

using test::RandomChoice;
using test::VariedExperiments;
using Json = nlohmann::ordered_json;

const Simulator& simulator() {
  static const Simulator shipped(STEPCAST_DATA_ROOT);
  return shipped;
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The word behind "can run" in a comparison of one column; empty where the row is left out.
std::string word_of(const std::string& comparison) {
  const std::size_t row = comparison.find("\n  can run ");
  if (row == std::string::npos) {
    return {};
  }
  const std::size_t word = comparison.find_first_not_of(' ', row + 10);
  return comparison.substr(word, comparison.find('\n', word) - word);
}

// Who contradicts an answer.
using Agreements = std::vector<std::pair<std::string_view, bool>>;
std::vector<std::string_view> against(const Agreements& agreements) {
  std::vector<std::string_view> names;
  for (const auto& [who, agrees] : agreements) {
    if (!agrees) {
      names.push_back(who);
    }
  }
  return names;
}

// What is printed of a projection, and of a comparison of it alone.
std::vector<std::string_view> contradictions(const Projection& p) {
  const bool can = p.feasible();
  const bool tight = is_tight(p.memory);
  const Json json = to_json(p);
  const std::vector<ComparedColumn> columns = {{{}, p, std::nullopt}};
  const std::string beside = comparison_to_text(columns);
  const std::string word = !p.priced ? "" : !can ? "no" : tight ? "yes, tight" : "yes";
  return against({{"reasons", p.reasons.empty() == can},
                  {"JSON", json["feasible"] == can && json["reasons"] == Json(p.reasons)},
                  {"the verdict on memory", !can || json["verdict"] == (tight ? "tight" : "fits")},
                  {"the text", holds(to_text(p), "This plan cannot run:") != can},
                  {"'can run' of a comparison", word_of(beside) == word},
                  {"the end of a comparison", holds(beside, "These cannot run:") != can}});
}

// What the front door answers.
std::vector<std::string_view> contradictions(const ExperimentSource& experiment,
                                             const Projection& p) {
  const StepProjection step = simulator().project(experiment);
  ReportForm form(ReportFormat::kJson);
  form.page = "stepcast project";
  const Report report = simulator().project_report(experiment, form);
  const Json column =
      Json::parse(simulator().compare_report({experiment}, ReportFormat::kJson).text)["columns"][0];
  const bool can = p.feasible();
  return against(
      {{"the answer", step.feasible == can && step.reasons == p.reasons},
       {"the report, from which the exit code is", report.feasible == can},
       {"its tight memory", report.tight == is_tight(p.memory)},
       {"the page", holds(report.page, can ? R"("feasible": true)" : R"("feasible": false)")},
       {"the column of a comparison", column["feasible"] == can}});
}

std::string settings_of(const ExperimentSource& experiment) {
  std::string text;
  for (const Assignment& setting : experiment.settings) {
    text += setting.text + "\n";
  }
  return text;
}

// What was answered to draws of `next`, until so many were; those that are refused do not count.
struct Answered {
  int run = 0;       // of them
  int by_power = 0;  // cannot
};
template <typename Next>
Answered hold(int count, const Next& next) {
  constexpr int kThroughTheFrontDoor = 20;  // one of so many
  Answered answered;
  for (int i = 0; i < count;) {
    const ExperimentSource experiment = next();
    INFO(experiment.text << settings_of(experiment));
    std::optional<Projection> p;
    try {
      const DataRoot data{STEPCAST_DATA_ROOT};
      Experiment read = experiment_of(experiment, data);
      p = project(read, cost_model_of(read, data));
    } catch (const ConfigError&) {
      continue;
    }
    CHECK(contradictions(*p) == std::vector<std::string_view>{});
    if (i++ % kThroughTheFrontDoor == 0) {
      CHECK(contradictions(experiment, *p) == std::vector<std::string_view>{});
    }
    answered.run += p->feasible() ? 1 : 0;
    answered.by_power += std::ranges::any_of(
        p->reasons, [](const std::string& reason) { return holds(reason, "could not keep"); });
  }
  return answered;
}

}  // namespace

TEST_CASE("Whether a plan can run is said alike by all who say it", "[property]") {
  VariedExperiments drawn(simulator(), RandomChoice(20261126));
  CHECK(hold(test::draws(2000), [&] { return drawn.next(); }).run > test::draws(2000) / 20);
}

TEST_CASE("One GPU of any kind runs what fits into it, and all who say so agree", "[property]") {
  RandomChoice draw(38);
  const std::vector<std::string> gpus = simulator().list(Listing::kGpu);
  const std::vector<std::string> models = {"llama3.1_8b", "llama3.2_1b", "qwen2.5_7b", "llama2_7b",
                                           "qwen3_4b"};
  const Answered answered = hold(test::draws(1000), [&] {
    return ExperimentSource{.text = "model: " + draw.any(models) + "\n"}
        .with("cluster.gpu", draw.any(gpus))
        .with("cluster.nodes", "1")
        .with("cluster.gpus_per_node", "1")
        .with("training.sequence_length", draw.any({"2048", "4096", "8192"}))
        .with("training.micro_batch_size", draw.any({"1", "2", "4"}))
        .with("training.global_batch_size", "16")
        .with("training.recompute", draw.any({"none", "selective", "full"}))
        .with("plan.zero", "0");
  });
  CHECK(answered.run > test::draws(1000) / 3);
  CHECK(answered.by_power == 0);
}

}  // namespace stepcast::verdict_property_test
