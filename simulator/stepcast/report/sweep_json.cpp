// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "stepcast/config/json_dump.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/sweep_report.hpp"
#include "stepcast/sweep/shown_plans.hpp"

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

Json missing_json(const MissingParts& missing, std::int64_t plans) {
  return {{"plans", missing.plans},
          {"share", static_cast<double>(missing.plans) / static_cast<double>(plans)},
          {"parts", missing.numbers},
          {"of", missing.of}};
}

// What is known of the errors of a list of plans, as further members of each.
class ErrorMembers {
 public:
  explicit ErrorMembers(PlanErrors& errors) : errors_(&errors) {}

  // Of a plan whose `line` is an object.
  [[nodiscard]] std::string add(std::string line, const PlanNumbers& numbers) const {
    const ExpectedError& error = errors_->of(numbers);
    if (!error.distribution) {
      return line;
    }
    line.pop_back();
    return line + ",\"expected_error\":" + json_dump(to_json(error)) + "}";
  }

  // The same with whether it can be told apart from the first that was added.
  [[nodiscard]] std::string add_ranked(std::string line, const PlanNumbers& numbers) {
    line = add(std::move(line), numbers);
    if (!best_) {
      best_ = numbers;
    } else if (errors_->of(numbers).distribution) {
      line.pop_back();
      line += std::string(",\"told_apart\":") +
              (errors_->told_apart(numbers, *best_) ? "true}" : "false}");
    }
    return line;
  }

 private:
  PlanErrors* errors_;
  std::optional<PlanNumbers> best_;
};

using LineOf = std::function<std::string(const PlanNumbers&)>;

// A list of plans, one a line, so that none but one is in memory as text.
void write_plans(const WriteText& write, const LineOf& line, const EachPlan& each_plan,
                 const std::string& indent) {
  write("[");
  bool any = false;
  each_plan([&](const PlanNumbers& numbers) {
    write((any ? ",\n" : "\n") + indent + "  " + line(numbers));
    any = true;
  });
  write(any ? "\n" + indent + "]" : "]");
}

// Already indented by one level, as a member of the outermost object.
std::string member(const std::string& key, const Json& value) {
  std::string text = json_dump(value, 2);
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

void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      PlanErrors& errors) {
  write_sweep_json(write, space, summary, errors, each_of(summary.best));
}

void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      PlanErrors& errors, const EachPlan& ranked) {
  const PlanLines lines(space);
  ErrorMembers members(errors);
  const LineOf of_ranked = [&](const PlanNumbers& numbers) {
    return members.add_ranked(lines.json(numbers), numbers);
  };
  const LineOf of_front = [&](const PlanNumbers& numbers) {
    return members.add(lines.json(numbers), numbers);
  };
  Json refused = Json::object();
  for (const auto& [reason, plans] : by_count(summary.refused)) {
    refused[reason] = plans;
  }
  write("{\n");
  write(member("schema_version", kJsonSchemaVersion) + ",\n");
  write(member("context", context_json(space, summary)) + ",\n");
  write(member("space_size", space.size()) + ",\n");
  write(member("evaluated", summary.evaluated) + ",\n");
  if (summary.missing) {
    write(member("missing", missing_json(*summary.missing, space.size())) + ",\n");
  }
  write(member("priced", summary.priced) + ",\n");
  write(member("bounded", summary.bounded) + ",\n");
  write(member("refused", refused) + ",\n");
  write("  \"plans\": ");
  write_plans(write, of_ranked, ranked, "  ");
  write(",\n  \"pareto\": {\n    \"memory\": ");
  write_plans(write, of_front, each_of(summary.memory_front), "    ");
  write(",\n    \"gpus\": ");
  write_plans(write, of_front, each_of(summary.gpu_front), "    ");
  write("\n  }\n}\n");
}

}  // namespace stepcast
