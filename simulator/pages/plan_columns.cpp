// SPDX-License-Identifier: Apache-2.0
#include "pages/plan_columns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "stepcast/report/columns.hpp"
#include "stepcast/report/plan_lines.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 6;

double rounded(double value) {
  std::array<char, 32> text{};
  const std::to_chars_result written = std::to_chars(text.data(), text.data() + text.size(), value,
                                                     std::chars_format::scientific, kDigits - 1);
  double result = value;
  std::from_chars(text.data(), written.ptr, result);
  return result;
}

struct PlanColumn {
  std::string key;
  std::vector<Json> values;
};

// The columns of a table, in the order in which the first line has them.
class Table {
 public:
  void add(const Json& line) {
    for_each_leaf(line, [this](const std::string& key, const Json& value) {
      column(key).values.push_back(value.is_number_float() ? Json(rounded(value.get<double>()))
                                                           : value);
    });
  }
  [[nodiscard]] const std::vector<PlanColumn>& columns() const { return columns_; }

 private:
  PlanColumn& column(const std::string& key) {
    const auto [place, is_new] = places_.emplace(key, columns_.size());
    if (is_new) {
      columns_.push_back({key, {}});
    }
    return columns_[place->second];
  }

  std::vector<PlanColumn> columns_;
  std::map<std::string, std::size_t> places_;
};

// Texts are written once each.
Json named(const PlanColumn& column) {
  std::vector<Json> names;
  Json places = Json::array();
  for (const Json& value : column.values) {
    const auto found = std::ranges::find(names, value);
    places.push_back(found - names.begin());
    if (found == names.end()) {
      names.push_back(value);
    }
  }
  return {{"key", column.key}, {"names", names}, {"places", std::move(places)}};
}

Json column_json(const PlanColumn& column) {
  const std::vector<Json>& values = column.values;
  if (std::ranges::all_of(values,
                          [&values](const Json& value) { return value == values.front(); })) {
    return {{"key", column.key}, {"all", values.front()}};
  }
  const bool texts =
      std::ranges::any_of(values, [](const Json& value) { return !value.is_number(); });
  return texts ? named(column) : Json{{"key", column.key}, {"values", values}};
}

}  // namespace

std::vector<PlanNumbers> plans_of_page(const SweepSummary& summary) {
  std::vector<PlanNumbers> plans(summary.best.begin(),
                                 summary.best.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            kPlansOfPage, summary.best.size())));
  std::set<std::int64_t> known;
  for (const PlanNumbers& numbers : plans) {
    known.insert(numbers.plan);
  }
  for (const std::vector<PlanNumbers>* front : {&summary.memory_front, &summary.gpu_front}) {
    for (const PlanNumbers& numbers : *front) {
      if (known.insert(numbers.plan).second) {
        plans.push_back(numbers);
      }
    }
  }
  return plans;
}

nlohmann::ordered_json plan_columns(const SweepSpace& space,
                                    const std::vector<PlanNumbers>& plans) {
  const PlanLines lines(space);
  Table table;
  for (const PlanNumbers& numbers : plans) {
    table.add(Json::parse(lines.json(numbers)));
  }
  return {{"plans", plans.size()}, {"columns", list_of(table.columns(), column_json)}};
}

}  // namespace stepcast
