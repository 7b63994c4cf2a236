// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/sweep_report.hpp"

#include <algorithm>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/report/plan_lines.hpp"
#include "stepcast/sweep/rank_by.hpp"
#include "stepcast/sweep/shown_plans.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::string_view kUnset = "-";
constexpr std::string_view kPlanNumbers =
    "tokens_per_second_per_gpu step_time_s mfu peak_memory_bytes";

// As the option of the command line calls a key of `training`; empty if it has none.
std::string_view abbreviation(std::string_view name) {
  const TrainingKey* key = training_key(name);
  return key == nullptr || key->option.empty() ? std::string_view() : key->option.substr(2);
}

// A key of an axis.
struct AxisColumn {
  std::size_t axis = 0;
  std::size_t key = 0;
  std::string name;   // without its section, where that is enough
  std::string title;  // as short as it can be
  bool is_switch = false;
};

// "recompute_method" beside "recompute" is "method".
std::string_view beside_first(const SweepAxis& axis, std::size_t key, std::string_view name) {
  const std::string_view first = unqualified(axis.keys.front());
  const bool extends = key > 0 && name.size() > first.size() + 1 && name.starts_with(first) &&
                       name[first.size()] == '_';
  return extends ? name.substr(first.size() + 1) : name;
}

// "sequence_parallel" is "sp".
std::string initials(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (at == 0 || name[at - 1] == '_' || name[at - 1] == '.') {
      text += name[at];
    }
  }
  return text;
}

bool holds_switches(const SweepAxis& axis, std::size_t key) {
  return std::ranges::all_of(axis.values, [key](const auto& texts) {
    return texts[key].empty() || texts[key] == "true" || texts[key] == "false";
  });
}

class PlansTable {
 public:
  PlansTable(const SweepSpace& space, const std::vector<PlanNumbers>& plans)
      : space_(space), plans_(plans) {
    for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
      for (std::size_t key = 0; key < space.axes()[axis].keys.size(); ++key) {
        (differs(axis, key) ? shown_ : same_).push_back(named(axis, key));
      }
    }
    for (std::size_t i = 0; i < shown_.size(); ++i) {
      shorten(i);
    }
  }

  [[nodiscard]] std::string text() const { return above() + table(); }

 private:
  [[nodiscard]] std::string cell(const PlanNumbers& plan, const AxisColumn& column) const {
    const SweepAxis& axis = space_.axes()[column.axis];
    const std::string& text = axis.values[space_.digit(plan.plan, column.axis)][column.key];
    if (text.empty()) {
      return std::string(kUnset);
    }
    return !column.is_switch ? text : text == "true" ? "on" : "off";
  }

  [[nodiscard]] bool differs(std::size_t axis, std::size_t key) const {
    const AxisColumn column{.axis = axis, .key = key, .name = {}, .title = {}};
    return std::ranges::any_of(plans_, [&](const PlanNumbers& plan) {
      return cell(plan, column) != cell(plans_.front(), column);
    });
  }

  [[nodiscard]] bool names_one_key(std::string_view last) const {
    std::int64_t keys = 0;
    for (const SweepAxis& axis : space_.axes()) {
      keys += std::ranges::count_if(
          axis.keys, [last](const std::string& key) { return unqualified(key) == last; });
    }
    return keys == 1;
  }

  [[nodiscard]] AxisColumn named(std::size_t axis, std::size_t key) const {
    const SweepAxis& swept = space_.axes()[axis];
    const std::string& whole = swept.keys[key];
    AxisColumn column{.axis = axis, .key = key, .name = whole, .title = {}};
    if (names_one_key(unqualified(whole))) {
      column.name = unqualified(whole);
    }
    column.title = column.name;
    column.is_switch = holds_switches(swept, key);
    return column;
  }

  [[nodiscard]] bool is_free(const std::string& title) const {
    return std::ranges::none_of(
        shown_, [&title](const AxisColumn& column) { return column.title == title; });
  }

  void shorten(std::size_t index) {
    AxisColumn& column = shown_[index];
    const std::string_view known = abbreviation(column.name);
    std::string title =
        !known.empty() ? std::string(known)
        : column.is_switch
            ? initials(column.name)
            : std::string(beside_first(space_.axes()[column.axis], column.key, column.name));
    if (is_free(title)) {
      column.title = std::move(title);
    }
  }

  // What all plans have in common, and what short titles stand for.
  [[nodiscard]] std::string above() const {
    std::vector<std::string> same;
    for (const AxisColumn& column : same_) {
      const std::string value = cell(plans_.front(), column);
      if (value != kUnset) {
        same.push_back(column.name + " " + value);
      }
    }
    std::vector<std::string> stands_for;
    for (const AxisColumn& column : shown_) {
      if (column.is_switch && column.title != column.name) {
        stands_for.push_back(column.title + " " + column.name);
      }
    }
    const std::string text =
        wrapped(plans_.size() == 1 ? "this has: " : "all of these have: ", same) +
        wrapped("titles: ", stands_for);
    return text.empty() ? text : text + "\n";
  }

  // "  start one, two," and further lines below the first item.
  static std::string wrapped(const std::string& start, std::vector<std::string> items) {
    for (std::size_t i = 0; i + 1 < items.size(); ++i) {
      items[i] += ",";
    }
    return items.empty() ? "" : filled("  " + start, items, kLineWidth);
  }

  [[nodiscard]] std::string table() const {
    const bool gpus_vary = space_.gpus_vary();
    std::vector<TextTable::Column> columns = {{"  rank", Align::kRight}, {"index", Align::kRight}};
    for (const AxisColumn& column : shown_) {
      columns.push_back({column.title, Align::kRight});
    }
    std::ranges::copy(plan_number_columns().titles(kPlanNumbers), std::back_inserter(columns));
    if (gpus_vary) {
      columns.push_back({"tokens/s", Align::kRight});
    }
    TextTable table(columns);
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const PlanNumbers& plan = plans_[i];
      std::vector<std::string> cells = {std::to_string(i + 1), with_separators(plan.plan)};
      for (const AxisColumn& column : shown_) {
        cells.push_back(cell(plan, column));
      }
      std::ranges::copy(plan_number_columns().cells(kPlanNumbers, plan), std::back_inserter(cells));
      if (gpus_vary) {
        const std::int64_t gpus = space_.experiment_of(plan.plan).cluster.gpus();
        cells.push_back(decimals(ranked_number(RankBy::kTokensPerSecond, plan, gpus), 1));
      }
      table.add_row(std::move(cells));
    }
    return table.text();
  }

  const SweepSpace& space_;
  const std::vector<PlanNumbers>& plans_;
  std::vector<AxisColumn> shown_;
  std::vector<AxisColumn> same_;
};

}  // namespace

std::string plans_table(const SweepSpace& space, const std::vector<PlanNumbers>& plans) {
  return plans.empty() ? "" : PlansTable(space, plans).text();
}

}  // namespace stepcast
