// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/step_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace stepcast {
namespace {

void add_name(const std::string& name, std::vector<std::string>& names) {
  if (std::ranges::find(names, name) == names.end()) {
    names.push_back(name);
  }
}

void sort_by_difference(std::vector<ComparedRow>& rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const ComparedRow& row) {
    return std::abs(row.difference().value());
  });
}

void sort_by_time(std::vector<ComparedRow>& rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const ComparedRow& row) { return row.busy() + row.predicted; });
}

std::vector<ComparedRow> traced_rows(const MeasuredStep& step) {
  std::vector<ComparedRow> rows;
  for (const TracedOperator& op : step.operators) {
    ComparedRow& row = rows.emplace_back();
    row.category = op.category;
    row.shape = op.shape;
    row.traced = {op.name};
    row.traced_calls = static_cast<double>(op.calls);
    row.measured = op.time;
    row.waiting = op.waiting;
    row.slowed = op.slowed;
    row.launch = op.launch;
    row.protocol = op.protocol;
  }
  return rows;
}

// Ours, those of one shape in one row; without one those of one operator and category.
std::vector<ComparedRow> our_rows(const PredictedStep& step) {
  using Kind = std::tuple<StepCategory, std::optional<WorkShape>, std::optional<OpId>>;
  std::vector<ComparedRow> rows;
  std::map<Kind, std::size_t> known;
  for (const PredictedOperator& op : step.operators) {
    const StepCategory category = category_of(op.op);
    const std::optional<WorkShape> shape = work_shape(op.op);
    const Kind kind{category, shape, shape ? std::nullopt : std::optional(op.op.id)};
    const auto [place, is_new] = known.try_emplace(kind, rows.size());
    if (is_new) {
      rows.emplace_back();
      rows.back().category = category;
      rows.back().shape = shape;
    }
    ComparedRow& row = rows[place->second];
    add_name(std::string(name(op.op.id)), row.ours);
    row.our_calls += op.calls;
    row.predicted += op.time;
  }
  return rows;
}

void merge(const ComparedRow& ours, ComparedRow& row) {
  for (const std::string& name : ours.ours) {
    add_name(name, row.ours);
  }
  row.our_calls += ours.our_calls;
  row.predicted += ours.predicted;
}

constexpr double kNever = 2.0;  // a distance: it is not the same work

// How far apart the sizes of two collectives are, of as much as padding may add.
double distance(const ComparedRow& traced, const ComparedRow& ours) {
  constexpr double kMostPadding = 0.05;  // of the larger
  if (traced.category != ours.category || !is_communication(ours.category) || !traced.shape ||
      !ours.shape || ranks_of(*traced.shape) != ranks_of(*ours.shape)) {
    return kNever;
  }
  const double a = bytes_of(*traced.shape);
  const double b = bytes_of(*ours.shape);
  const double apart =
      a > 0.0 && b > 0.0 ? std::abs(a - b) / (kMostPadding * std::max(a, b)) : kNever;
  return apart < 1.0 ? apart : kNever;
}

// How far apart the rows of two grouped products are, of as many as padding may add: each group
// begins at a multiple of 8, 16 or 32 rows.
double padding(const ComparedRow& traced, const ComparedRow& ours) {
  constexpr std::int64_t kMostOfGroup = 32;
  if (ours.category != StepCategory::kGroupedGemm || traced.category != ours.category ||
      !traced.shape) {
    return kNever;
  }
  WorkShape padded = *ours.shape;
  padded.sizes[1] = traced.shape->sizes[1];
  const std::int64_t added = traced.shape->sizes[1] - ours.shape->sizes[1];
  const std::int64_t most = kMostOfGroup * ours.shape->sizes[0];
  return padded == *traced.shape && added >= 0 && added <= most
             ? static_cast<double>(added) / static_cast<double>(most)
             : kNever;
}

// The row of the trace that is the same work; -1: none is.
std::ptrdiff_t same_work(const std::vector<ComparedRow>& traced, const ComparedRow& ours) {
  if (!ours.shape) {
    return -1;
  }
  std::ptrdiff_t best = -1;
  double nearest = kNever;
  for (std::size_t i = 0; i < traced.size(); ++i) {
    if (traced[i].shape == ours.shape) {
      return static_cast<std::ptrdiff_t>(i);
    }
    const double apart = std::min(distance(traced[i], ours), padding(traced[i], ours));
    if (apart < nearest) {
      nearest = apart;
      best = static_cast<std::ptrdiff_t>(i);
    }
  }
  return best;
}

bool has_shapes(StepCategory category) {
  return category <= StepCategory::kAttentionBackward || is_communication(category);
}

void compare_operators(StepComparison& result) {
  std::vector<ComparedRow> rows = traced_rows(result.input.measured);
  std::vector<ComparedRow> left;
  for (const ComparedRow& ours : our_rows(result.input.predicted)) {
    const std::ptrdiff_t place = same_work(rows, ours);
    if (place >= 0) {
      merge(ours, rows[static_cast<std::size_t>(place)]);
    } else {
      left.push_back(ours);
    }
  }
  rows.insert(rows.end(), left.begin(), left.end());
  Seconds matched;
  Seconds all;
  for (ComparedRow& row : rows) {
    const bool both = row.traced_calls > 0.0 && row.our_calls > 0.0;
    if (has_shapes(row.category)) {
      all += row.busy();
      matched += both ? row.busy() : Seconds{};
    }
    std::vector<ComparedRow>& list = !has_shapes(row.category) ? result.without_shape
                                     : both                    ? result.operators
                                     : row.traced_calls > 0.0  ? result.only_traced
                                                               : result.only_ours;
    list.push_back(std::move(row));
  }
  result.matched_share = all > Seconds{} ? matched / all : 0.0;
  sort_by_difference(result.operators);
  sort_by_time(result.only_traced);
  sort_by_time(result.only_ours);
  sort_by_time(result.without_shape);
}

void compare_categories(StepComparison& result) {
  const StepTrace& measured = result.input.measured.summary;
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    ComparedRow row;
    row.category = static_cast<StepCategory>(i);
    row.measured = measured.device_time[i];
    row.waiting = measured.waiting[i];
    row.slowed = measured.slowed[i];
    row.predicted = result.input.predicted.device_time[i];
    if (row.measured > Seconds{} || row.predicted > Seconds{}) {
      result.categories.push_back(std::move(row));
    }
  }
  sort_by_difference(result.categories);
}

void compare_wall(StepComparison& result) {
  const StepTrace& measured = result.input.measured.summary;
  const PredictedStep& ours = result.input.predicted;
  const Seconds waiting = result.input.measured.exposed_waiting;
  result.wall = {{"computation", measured.step - measured.exposed_communication - measured.idle,
                  ours.step - ours.exposed_communication - ours.idle},
                 {"exposed communication", measured.exposed_communication - waiting,
                  ours.exposed_communication},
                 {"waiting for other ranks", waiting, Seconds{}},
                 {"idle", measured.idle, ours.idle}};
}

}  // namespace

// Of traces of other steps a few products have the size of one of the projection's by chance, and
// took up to 3 % of the time.
bool StepComparison::of_one_step() const {
  constexpr double kLeast = 0.05;
  return !operators.empty() && matched_share >= kLeast;
}

std::optional<double> StepComparison::error() const {
  const Seconds measured = input.measured.summary.step;
  if (!input.predicted.priced || !(measured > Seconds{}) || !of_one_step()) {
    return std::nullopt;
  }
  return input.predicted.step / measured - 1.0;
}

StepComparison compare(ComparisonInput input) {
  StepComparison result;
  result.input = std::move(input);
  compare_operators(result);
  compare_categories(result);
  compare_wall(result);
  const PredictedStep& ours = result.input.predicted;
  if (ours.computing > Seconds{}) {
    result.our_streams.push_back({"computation", ours.computing});
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (ours.communicating[axis] > Seconds{}) {
      result.our_streams.push_back({name(static_cast<Axis>(axis)), ours.communicating[axis]});
    }
  }
  return result;
}

}  // namespace stepcast
