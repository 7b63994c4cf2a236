// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/sweep_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/config/json_dump.hpp"
#include "stepcast/model/model_flops.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/scatter_plot.hpp"
#include "stepcast/sweep/incumbents.hpp"
#include "stepcast/sweep/shown_plans.hpp"
#include "stepcast/sweep/sweep_merge.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kMostParetoRows = 20;

// The values of a key, in their order, each once; of many only the ends.
std::string values_text(const SweepAxis& axis, std::size_t key) {
  constexpr std::size_t kMostShown = 12;
  constexpr std::size_t kShown = 5;
  std::vector<std::string> texts;
  for (const std::vector<std::string>& value : axis.values) {
    if (!value[key].empty() &&
        (axis.keys.size() == 1 || std::ranges::find(texts, value[key]) == texts.end())) {
      texts.push_back(value[key]);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool hidden = texts.size() > kMostShown && i >= kShown && i + 1 < texts.size();
    if (!hidden) {
      text += (text.empty() ? "" : ", ") + texts[i];
    } else if (i == kShown) {
      text += " ...";
    }
  }
  return texts.size() > kMostShown ? text + " (" + std::to_string(texts.size()) + " values)" : text;
}

std::string axes_text(const SweepSpace& space) {
  TextTable table({{"  swept"}, {"over"}});
  for (const SweepAxis& axis : space.axes()) {
    for (std::size_t key = 0; key < axis.keys.size(); ++key) {
      table.add_row({"  " + axis.keys[key], values_text(axis, key)});
    }
    if (axis.keys.size() > 1) {
      table.add_row({"", "together " + with_separators(axis.size()) + " combinations"});
    }
  }
  std::string text = space.axes().empty() ? "" : "\n" + table.text();
  for (const PlanConstraint& constraint : space.constraints()) {
    text += (&constraint == &space.constraints().front() ? "\n" : "") +
            line("constraint", constraint.text);
  }
  return text;
}

std::string refusals_text(const SweepSummary& summary) {
  if (summary.refused.empty()) {
    return "";
  }
  std::string text = "\nPlans that cannot run or are not wanted\n";
  TextTable table({{"  plans", Align::kRight}, {"why", Align::kLeft}});
  for (const auto& [reason, plans] : by_count(summary.refused)) {
    table.add_row({with_separators(plans), reason});
  }
  return text + table.text();
}

// At most kMostParetoRows of them, evenly spread, the ends included.
std::vector<PlanNumbers> thinned(const std::vector<PlanNumbers>& plans) {
  if (plans.size() <= kMostParetoRows) {
    return plans;
  }
  std::vector<PlanNumbers> some;
  for (std::size_t i = 0; i < kMostParetoRows; ++i) {
    some.push_back(plans[i * (plans.size() - 1) / (kMostParetoRows - 1)]);
  }
  return some;
}

std::string front_text(const SweepSpace& space, const std::string& title,
                       const std::vector<PlanNumbers>& front) {
  if (front.empty()) {
    return "";
  }
  const std::vector<PlanNumbers> some = thinned(front);
  std::string text = "\n" + title + ": " + with_separators(std::ssize(front)) +
                     (front.size() == 1 ? " plan" : " plans");
  if (some.size() < front.size()) {
    text += ", of which " + std::to_string(some.size()) + " are shown";
  }
  return text + "\n" + plans_table(space, some);
}

std::string memory_plot(const SweepSummary& summary) {
  const std::vector<PlotPoint> points = each_of(summary.memory_front, [](const PlanNumbers& plan) {
    return PlotPoint{plan.peak_memory.value() / kGibibyte, plan.tokens_per_second_per_gpu};
  });
  return points.size() < 2 ? "" : "\n" + scatter_plot(points, {"peak memory, GiB", "tokens/s/GPU"});
}

// Of the best plans.
std::string errors_text(PlanErrors& errors, const std::vector<PlanNumbers>& best) {
  const ExpectedError& error = errors.of(best.front());
  if (!error.distribution) {
    return "";
  }
  std::string text = "\n" + line("rate of the first", expected_error_text(error));
  if (best.size() < 2) {
    return text;
  }
  const std::string alike = not_told_apart_text(errors, best);
  return text + line("told apart", alike.empty()
                                       ? "the rate of the first from all others (80 %)"
                                       : "not from the rate of the first (80 %): " + alike);
}

// --- JSON ---------------------------------------------------------------------------------------

Value context_json(const SweepSpace& space, const SweepSummary& summary) {
  const Value axes = list_of(space.axes(), [](const SweepAxis& axis) -> Value {
    return {{"keys", axis.keys}, {"values", axis.values}};
  });
  const Value constraints = list_of(
      space.constraints(), [](const PlanConstraint& constraint) { return constraint.text; });
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

Value missing_json(const MissingParts& missing, std::int64_t plans) {
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
std::string json_member(const std::string& key, const Value& value) {
  std::string text = json_dump(value, 2);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, "  ");
  }
  return "  \"" + key + "\": " + text;
}

EachPlan each_plan_of(const std::vector<PlanNumbers>& plans) {
  return [&plans](const TakePlan& take) {
    for (const PlanNumbers& numbers : plans) {
      take(numbers);
    }
  };
}

}  // namespace

std::string not_told_apart_text(PlanErrors& errors, const std::vector<PlanNumbers>& ranked) {
  std::string text;
  std::size_t begin = 0;  // of the ranks that follow one another, from 0; 0: none yet
  for (std::size_t rank = 1; rank <= ranked.size(); ++rank) {
    const bool like_best = rank < ranked.size() && errors.of(ranked[rank]).distribution &&
                           !errors.told_apart(ranked[rank], ranked.front());
    if (like_best && begin == 0) {
      begin = rank;
    } else if (!like_best && begin > 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(begin + 1) +
              (rank > begin + 1 ? " to " + std::to_string(rank) : "");
      begin = 0;
    }
  }
  return text.empty() ? text : "rank " + text;
}

std::string sweep_to_text(const SweepSpace& space, const SweepSummary& summary,
                          PlanErrors& errors) {
  std::string text = space.description().empty() ? "" : space.description() + "\n";
  text += line("plans", with_separators(space.size()));
  if (summary.evaluated < space.size()) {
    text += line("evaluated", with_separators(summary.evaluated) + ", a part of them");
  }
  if (summary.missing) {
    text +=
        line("missing", missing_text(*summary.missing, space.size()) + "; the best may be there");
  }
  text += line("priced", with_separators(summary.priced));
  if (summary.bounded > 0) {
    text += line("bounded away",
                 with_separators(summary.bounded) + ", surely none of the plans below (--all)");
  }
  if (!can_be_bounded(space.rank_by())) {
    text += line("searched", "every plan: " + std::string(name(space.rank_by())) + " has no bound");
  }
  text += line("ranked by", std::string(name(space.rank_by())));
  text += axes_text(space);
  if (!summary.best.empty()) {
    text += "\nThe best plans\n" + plans_table(space, summary.best);
    text += errors_text(errors, summary.best);
  }
  text += front_text(space, "Most tokens/s/GPU for their memory", summary.memory_front);
  text += memory_plot(summary);
  text += front_text(space, "Most tokens/s of the cluster for its GPUs", summary.gpu_front);
  text += refusals_text(summary);
  const std::vector<std::string> notes = sweep_notes(space, summary);
  for (const std::string& note : notes) {
    text += (&note == &notes.front() ? "\n" : "") + line("note", note);
  }
  return summary.priced == 0
             ? text
             : text +
                   "\nEvery plan, with all of its numbers or why it cannot run: --plans FILE.csv\n";
}

void write_sweep_json(const WriteText& write, const SweepSpace& space, const SweepSummary& summary,
                      PlanErrors& errors) {
  write_sweep_json(write, space, summary, errors, each_plan_of(summary.best));
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
  write("{\n");
  write(json_member("schema_version", kJsonSchemaVersion) + ",\n");
  write(json_member("context", context_json(space, summary)) + ",\n");
  write(json_member("space_size", space.size()) + ",\n");
  write(json_member("evaluated", summary.evaluated) + ",\n");
  if (summary.missing) {
    write(json_member("missing", missing_json(*summary.missing, space.size())) + ",\n");
  }
  write(json_member("priced", summary.priced) + ",\n");
  write(json_member("bounded", summary.bounded) + ",\n");
  write(json_member("refused", object_of(by_count(summary.refused))) + ",\n");
  write("  \"plans\": ");
  write_plans(write, of_ranked, ranked, "  ");
  write(",\n  \"pareto\": {\n    \"memory\": ");
  write_plans(write, of_front, each_plan_of(summary.memory_front), "    ");
  write(",\n    \"gpus\": ");
  write_plans(write, of_front, each_plan_of(summary.gpu_front), "    ");
  write("\n  }\n}\n");
}

}  // namespace stepcast
