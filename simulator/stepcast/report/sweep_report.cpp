// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/sweep_report.hpp"

#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/expected_error_text.hpp"
#include "stepcast/report/plans_table.hpp"
#include "stepcast/report/scatter_plot.hpp"
#include "stepcast/report/text_layout.hpp"
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
    points.push_back({plan.peak_memory.value() / kGibibyte, plan.tokens_per_second_per_gpu});
  }
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

}  // namespace stepcast
