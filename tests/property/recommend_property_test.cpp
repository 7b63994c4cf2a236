// SPDX-License-Identifier: Apache-2.0
// "Fewest" is the fewest: no best plan of fewer whole nodes ends the run within its limits.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "property/draws.hpp"
#include "property/random_choice.hpp"
#include "sample_specs.hpp"
#include "stepcast/stepcast.hpp"

namespace stepcast::recommend_property_test {
namespace {

using Json = nlohmann::json;
using test::RandomChoice;

struct Question {
  std::string model;
  std::string gpu;
  std::string tokens;
  double days = 0.0;

  [[nodiscard]] ExperimentSource on(const std::string& nodes) const {
    ExperimentSource source{.file = {}};
    source.text = "training: {sequence_length: 4096, recompute: none, micro_batch_size: 1}\n";
    source.settings = {Assignment("model=" + model), Assignment("cluster.gpu=" + gpu),
                       Assignment("cluster.nodes=" + nodes),
                       Assignment("training.global_batch_size=1536"),
                       Assignment("training.tokens=" + tokens)};
    return source;
  }
};

Question drawn(RandomChoice& random) {
  return {random.any({"llama3.1_8b", "qwen2.5_14b", "llama2_13b", "qwen3_30b_a3b"}),
          random.any({"h100_sxm", "mi300x", "b200", "gb200"}),
          random.any({"200000000000", "500000000000", "1000000000000"}),
          std::stod(random.any({"5", "12", "30"}))};
}

// Days that the best plan of so many nodes takes; none where no plan runs.
std::optional<double> days_on(const Simulator& simulator, const Question& question,
                              std::int64_t nodes) {
  CompareSettings settings;
  settings.best_plan = true;
  const Report report = simulator.columns_report({{question.on(std::to_string(nodes))}},
                                                 ReportForm(ReportFormat::kJson), settings);
  const Json column = Json::parse(report.text)["columns"][0];
  return column["feasible"].get<bool>()
             ? std::optional(column["training_run"]["days"].get<double>())
             : std::nullopt;
}

}  // namespace

TEST_CASE("No best plan of fewer nodes than the fewest ends within the limit", "[property]") {
  const Simulator simulator(test::data_root().folder);
  RandomChoice random(40);
  int looked = 0;
  for (int i = 0; i < test::draws(2); ++i) {
    const Question question = drawn(random);
    CAPTURE(question.model, question.gpu, question.tokens, question.days);
    const RecommendSettings settings{.gpus = {question.gpu}, .days = question.days, .prove = true};
    const Report report =
        simulator.recommend_report(question.on("1"), settings, ReportForm(ReportFormat::kJson));
    const Json answer = Json::parse(report.text)["answers"][0];
    REQUIRE(answer.contains("fewest"));
    const auto fewest = answer["fewest"]["gpus"].get<std::int64_t>();
    const std::int64_t of_node = question.gpu == "gb200" ? 4 : 8;  // GPUs of a node
    CHECK(answer["fewest"]["days"].get<double>() <= question.days);
    CHECK(fewest % of_node == 0);
    // The nearest numbers below, and some far below.
    const std::int64_t nodes = fewest / of_node;
    for (const std::int64_t fewer : {nodes - 1, nodes - 2, nodes - 3, nodes - 5, nodes / 2}) {
      if (fewer < 1) {
        continue;
      }
      CAPTURE(fewest, fewer);
      const std::optional<double> days = days_on(simulator, question, fewer);
      CHECK((!days || *days > question.days));
      ++looked;
    }
  }
  CHECK(looked > 0);
}

}  // namespace stepcast::recommend_property_test
