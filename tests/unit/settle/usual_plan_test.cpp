// SPDX-License-Identifier: Apache-2.0
#include "stepcast/settle/settle_plan.hpp"

#include "catch.hpp"
#include "stepcast/experiment/experiment.hpp"
#include "stepcast/experiment/nearest_fit.hpp"
#include "stepcast/experiment/project.hpp"
#include "stepcast/sweep/sweep_space.hpp"
#include "sweep_text.hpp"

namespace stepcast::usual_plan_test {
namespace {

using test::contains_text;

Experiment on_h100(const std::string& model, std::int64_t nodes, const std::string& plan,
                   const std::vector<Override>& settings = {}) {
  std::string text = "model: " + model +
                     "\ncluster: {gpu: h100_sxm, nodes: " + std::to_string(nodes) +
                     "}\ntraining: {sequence_length: 4096, global_batch_size: 512}\n";
  text += plan.empty() ? "" : "plan: " + plan + "\n";
  return read_sweep({"experiment.yaml", {}, text, settings, "test"}, test::data_root())
      .sites()
      .front();
}

std::vector<Override> settings_of(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<Override> settings;
  for (const auto& [key, value] : changes) {
    settings.emplace_back(key + "=" + value);
  }
  return settings;
}

}  // namespace

TEST_CASE("A missing plan is one that fits", "[unit]") {
  const Projection small = project(on_h100("llama3.1_8b", 1, ""), default_cost_model());
  CHECK(small.feasible());
  CHECK(small.plan.zero == 3);  // full sharding fits
  const Projection large = project(on_h100("llama3.1_405b", 64, ""), default_cost_model());
  CHECK(large.feasible());
  CHECK(large.plan.pp > 1);
  REQUIRE_FALSE(large.notes.empty());
  CHECK_THAT(large.notes[0], contains_text("full sharding does not fit"));
}

TEST_CASE("Where no plan fits, full sharding is refused with its reasons", "[unit]") {
  const Projection none = project(on_h100("llama3.1_405b", 1, ""), default_cost_model());
  CHECK_FALSE(none.feasible());
  CHECK(none.plan.zero == 3);
  CHECK_FALSE(none.reasons.empty());
}

TEST_CASE("A plan that does not fit names the nearest one that does", "[unit]") {
  Experiment experiment = on_h100("llama3.1_70b", 8, "{tp: 8, pp: 1, zero: 0}");
  const Projection p = project(experiment, default_cost_model());
  REQUIRE_FALSE(p.feasible());
  const std::optional<FittingPlan> fit = nearest_fit(p, experiment, default_cost_model());
  REQUIRE(fit);
  REQUIRE_FALSE(fit->changes.empty());
  const Projection changed =
      project(on_h100("llama3.1_70b", 8, "{tp: 8, pp: 1, zero: 0}", settings_of(fit->changes)),
              default_cost_model());
  CHECK(changed.feasible());
  CHECK(changed.tokens_per_second_per_gpu == fit->tokens_per_second_per_gpu);
  CHECK(changed.peak_memory() == fit->peak_memory);
}

TEST_CASE("A plan that fits, or that does not divide, has no nearest one", "[unit]") {
  const Experiment fits = on_h100("llama3.1_8b", 1, "{zero: 3}");
  CHECK_FALSE(nearest_fit(project(fits, default_cost_model()), fits, default_cost_model()));
  const Experiment uneven = on_h100("llama3.1_8b", 1, "{tp: 3}");
  CHECK_FALSE(nearest_fit(project(uneven, default_cost_model()), uneven, default_cost_model()));
}

TEST_CASE("Where two changes are not enough, none is named", "[unit]") {
  const Experiment experiment = on_h100("llama3.1_405b", 1, "{tp: 8, zero: 1}");
  const std::optional<FittingPlan> fit =
      nearest_fit(project(experiment, default_cost_model()), experiment, default_cost_model());
  REQUIRE(fit);
  CHECK(fit->changes.empty());
}

}  // namespace stepcast::usual_plan_test
