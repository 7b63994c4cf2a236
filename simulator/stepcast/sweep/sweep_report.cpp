// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "stepcast/base/units_text.hpp"
#include "stepcast/graph/model_flops.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/sweep/plan_lines.hpp"
#include "stepcast/sweep/scatter_plot.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGi = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kMostParetoRows = 20;

// "plan.tp" is "tp" in a table; keys of a site keep their section where it says more.
std::string short_key(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::string section = key.substr(0, dot);
  const bool plain = section == "plan" || section == "training" || section == "cluster";
  return plain && dot != std::string::npos ? key.substr(dot + 1) : key;
}

// One column a key that varies.
struct AxisColumn {
  std::size_t axis = 0;
  std::size_t key = 0;
};

std::vector<AxisColumn> varying_columns(const SweepSpace& space) {
  std::vector<AxisColumn> columns;
  for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
    const SweepAxis& swept = space.axes()[axis];
    for (std::size_t key = 0; key < swept.keys.size(); ++key) {
      const bool varies =
          std::any_of(swept.values.begin(), swept.values.end(),
                      [&](const auto& texts) { return texts[key] != swept.values.front()[key]; });
      if (varies) {
        columns.push_back({axis, key});
      }
    }
  }
  return columns;
}

std::string plans_table(const SweepSpace& space, const std::vector<PlanNumbers>& plans) {
  const std::vector<AxisColumn> varying = varying_columns(space);
  std::vector<std::string> titles;
  for (const AxisColumn& column : varying) {
    titles.push_back(short_key(space.axes()[column.axis].keys[column.key]));
  }
  std::vector<TextTable::Column> columns = {{"  rank", Align::kRight}, {"index", Align::kRight}};
  for (const std::string& title : titles) {
    columns.push_back({title, Align::kRight});
  }
  for (const std::string_view title : {"tokens/s/GPU", "step", "MFU %", "memory GiB"}) {
    columns.push_back({title, Align::kRight});
  }
  if (space.gpus_vary()) {
    columns.push_back({"tokens/s", Align::kRight});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const PlanNumbers& plan = plans[i];
    std::vector<std::string> cells = {std::to_string(i + 1), with_separators(plan.plan)};
    for (const AxisColumn& column : varying) {
      const std::string& text =
          space.axes()[column.axis].values[space.digit(plan.plan, column.axis)][column.key];
      cells.push_back(text.empty() ? "-" : text);
    }
    cells.push_back(decimals(plan.tokens_per_second_per_gpu, 1));
    cells.push_back(readable(plan.step));
    cells.push_back(decimals(100.0 * plan.mfu, 1));
    cells.push_back(decimals(plan.peak_memory.value() / kGi, 2));
    if (space.gpus_vary()) {
      const std::int64_t gpus = space.experiment_of(plan.plan).cluster.gpus();
      cells.push_back(decimals(ranked_number(RankBy::kTokensPerSecond, plan, gpus), 1));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

// The values of a key, in their order, each once; of many only the ends.
std::string values_text(const SweepAxis& axis, std::size_t key) {
  constexpr std::size_t kMostShown = 12;
  constexpr std::size_t kShown = 5;
  std::vector<std::string> texts;
  for (const std::vector<std::string>& value : axis.values) {
    if (!value[key].empty() && (axis.keys.size() == 1 ||
                                std::find(texts.begin(), texts.end(), value[key]) == texts.end())) {
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

std::vector<std::pair<std::string, std::int64_t>> by_count(
    const std::map<std::string, std::int64_t>& refused) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(refused.begin(), refused.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
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
  std::vector<PlotPoint> points;
  for (const PlanNumbers& plan : summary.memory_front) {
    points.push_back({plan.peak_memory.value() / kGi, plan.tokens_per_second_per_gpu});
  }
  return points.size() < 2 ? "" : "\n" + scatter_plot(points, {"peak memory, GiB", "tokens/s/GPU"});
}

Json context_json(const SweepSpace& space) {
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
          {"flop_convention", kFlopConvention}};
}

// A list of plans, one a line, so that none but one is in memory as text.
void write_plans(std::ostream& out, const PlanLines& lines, const std::vector<PlanNumbers>& plans,
                 const std::string& indent) {
  out << "[";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n") << indent << "  " << lines.json(plans[i]);
  }
  out << (plans.empty() ? "]" : "\n" + indent + "]");
}

// Already indented by one level, as a member of the outermost object.
std::string member(const std::string& key, const Json& value) {
  std::string text = value.dump(2);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, "  ");
  }
  return "  \"" + key + "\": " + text;
}

}  // namespace

std::string sweep_to_text(const SweepSpace& space, const SweepSummary& summary) {
  std::string text = space.description().empty() ? "" : space.description() + "\n";
  text += line("plans", with_separators(space.size()));
  if (summary.evaluated < space.size()) {
    text += line("evaluated", with_separators(summary.evaluated) + ", a part of them");
  }
  text += line("priced", with_separators(summary.priced));
  text += line("ranked by", std::string(name(space.rank_by())));
  text += axes_text(space);
  if (!summary.best.empty()) {
    text += "\nThe best plans\n" + plans_table(space, summary.best);
  }
  text += front_text(space, "Most tokens/s/GPU for their memory", summary.memory_front);
  text += memory_plot(summary);
  text += front_text(space, "Most tokens/s of the cluster for its GPUs", summary.gpu_front);
  return text + refusals_text(summary);
}

void write_sweep_json(std::ostream& out, const SweepSpace& space, const SweepSummary& summary) {
  const PlanLines lines(space);
  Json refused = Json::object();
  for (const auto& [reason, plans] : by_count(summary.refused)) {
    refused[reason] = plans;
  }
  out << "{\n";
  out << member("schema_version", kJsonSchemaVersion) << ",\n";
  out << member("context", context_json(space)) << ",\n";
  out << member("space_size", space.size()) << ",\n";
  out << member("evaluated", summary.evaluated) << ",\n";
  out << member("priced", summary.priced) << ",\n";
  out << member("refused", refused) << ",\n";
  out << "  \"plans\": ";
  write_plans(out, lines, summary.best, "  ");
  out << ",\n  \"pareto\": {\n    \"memory\": ";
  write_plans(out, lines, summary.memory_front, "    ");
  out << ",\n    \"gpus\": ";
  write_plans(out, lines, summary.gpu_front, "    ");
  out << "\n  }\n}\n";
}

}  // namespace stepcast
