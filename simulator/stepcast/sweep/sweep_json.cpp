// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/sweep/plan_lines.hpp"
#include "stepcast/sweep/sweep_notes.hpp"
#include "stepcast/sweep/sweep_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Json context_json(const SweepSpace& space, const SweepSummary& summary) {
  Json axes = Json::array();
  for (const SweepAxis& axis : space.axes()) {
    axes.push_back({{"keys", axis.keys}, {"values", axis.values}});
  }
  Json constraints = Json::array();
  for (const PlanConstraint& constraint : space.constraints()) {
    constraints.push_back(constraint.text);
  }
  return {{"program", "stepcast"},
          {"version", space.version()},
          {"digest", space.digest()},
          {"description", space.description()},
          {"axes", axes},
          {"constraints", constraints},
          {"rank_by", name(space.rank_by())},
          {"notes", sweep_notes(space, summary)},
          {"flop_convention", flop_convention()}};
}

// A list of plans, one a line, so that none but one is in memory as text.
void write_plans(const WriteText& write, const PlanLines& lines, const EachPlan& each_plan,
                 const std::string& indent) {
  write("[");
  bool any = false;
  each_plan([&](const PlanNumbers& numbers) {
    write((any ? ",\n" : "\n") + indent + "  " + lines.json(numbers));
    any = true;
  });
  write(any ? "\n" + indent + "]" : "]");
}

// Already indented by one level, as a member of the outermost object.
std::string member(const std::string& key, const Json& value) {
  std::string text = value.dump(2);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, "  ");
  }
  return "  \"" + key + "\": " + text;
}

EachPlan each_of(const std::vector<PlanNumbers>& plans) {
  return [&plans](const TakePlan& take) {
    for (const PlanNumbers& numbers : plans) {
      take(numbers);
    }
  };
}

}  // namespace

void write_sweep_json(const WriteText& write, const SweepSpace& space,
                      const SweepSummary& summary) {
  write_sweep_json(write, space, summary, each_of(summary.best));
}

void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      const EachPlan& ranked) {
  const PlanLines lines(space);
  Json refused = Json::object();
  for (const auto& [reason, plans] : by_count(summary.refused)) {
    refused[reason] = plans;
  }
  write("{\n");
  write(member("schema_version", kJsonSchemaVersion) + ",\n");
  write(member("context", context_json(space, summary)) + ",\n");
  write(member("space_size", space.size()) + ",\n");
  write(member("evaluated", summary.evaluated) + ",\n");
  write(member("priced", summary.priced) + ",\n");
  write(member("refused", refused) + ",\n");
  write("  \"plans\": ");
  write_plans(write, lines, ranked, "  ");
  write(",\n  \"pareto\": {\n    \"memory\": ");
  write_plans(write, lines, each_of(summary.memory_front), "    ");
  write(",\n    \"gpus\": ");
  write_plans(write, lines, each_of(summary.gpu_front), "    ");
  write("\n  }\n}\n");
}

}  // namespace stepcast
