// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/experiment/explain.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOperatorsShown = 12;

bool both_timed(const Explanation& first, const Explanation& second) {
  return first.projection.priced && second.projection.priced;
}

std::string as_signed_number(const Value& value) {
  const double number = value.get<double>();
  return (std::llround(100.0 * number) < 0 ? "-" : "+") + decimals(std::abs(number), 2);
}

using Term = DifferenceTerm;
constexpr auto kTermColumns = std::to_array<Column<Term>>({
    {"name", "", member<&Term::name>},
    {"a_us", "A", member<&Term::first>, as_number<2>},
    {"b_us", "B", member<&Term::second>, as_number<2>},
    {"difference_us", "B less A", member<&Term::difference>, as_signed_number},
});
constexpr Columns<Term> kTerms{kTermColumns};
constexpr std::string_view kTermMembers = "name a_us b_us difference_us";
constexpr std::string_view kTermCells =
    "name a_us:a_us_per_token b_us:b_us_per_token difference_us:difference_us_per_token";

void add_row(TextTable& table, const DifferenceTerm& term, double whole) {
  const double share = whole == 0.0 ? 0.0 : term.difference() / whole;
  std::vector<std::string> cells = kTerms.cells(kTermMembers, term);
  cells.push_back(whole == 0.0 ? "-"
                               : as_percent<1>(std::abs(share)) + (share < 0.0 ? " less" : ""));
  table.add_row(std::move(cells));
}

TextTable empty_table(const char* title) {
  std::vector<TextTable::Column> titles = {{title}};
  std::ranges::copy(kTerms.titles("a_us b_us difference_us"), std::back_inserter(titles));
  titles.push_back({"of it", Align::kRight});
  return TextTable(std::move(titles));
}

std::string terms_text(const Difference& d) {
  std::vector<DifferenceTerm> terms = d.terms;
  std::ranges::stable_sort(terms, [](const DifferenceTerm& a, const DifferenceTerm& b) {
    return std::abs(a.difference()) > std::abs(b.difference());
  });
  TextTable table = empty_table("GPU-us a token");
  for (const DifferenceTerm& term : terms) {
    add_row(table, term, d.total.difference());
  }
  add_row(table, d.total, d.total.difference());
  return table.text();
}

std::string operators_text(const Difference& d) {
  TextTable table = empty_table("operators, before anything hides them");
  for (std::size_t i = 0; i < std::min(kOperatorsShown, d.operators.size()); ++i) {
    if (d.operators[i].difference() != 0.0) {
      add_row(table, d.operators[i], d.total.difference());
    }
  }
  return table.text();
}

std::string verdict(const Difference& d) {
  const double ratio = d.total.second / d.total.first;
  if (ratio == 1.0) {
    return "A and B take the same time for a token\n";
  }
  const double percent = 100.0 * std::abs(ratio - 1.0);
  return "B takes " + decimals(percent, 2) + " % " + (ratio > 1.0 ? "longer" : "less long") +
         " for a token than A\n";
}

std::string described(const char* label, const Projection& p) {
  std::string text = std::string(label) + ": " + heading(p);
  if (p.priced) {
    text += line("tokens/s/GPU", decimals(p.tokens_per_second_per_gpu, 1));
  }
  return text + notes_and_reasons(p) + "\n";
}

}  // namespace

std::string difference_to_text(const Explanation& first, const Explanation& second) {
  std::string text = described("A", first.projection) + described("B", second.projection);
  if (!both_timed(first, second)) {
    return text;
  }
  const Difference d = difference_of(first, second);
  return text + verdict(d) + terms_text(d) + "\n" + operators_text(d);
}

nlohmann::ordered_json difference_to_json(const Explanation& first, const Explanation& second) {
  Json json = {{"schema_version", kJsonSchemaVersion},
               {"context", {{"program", "stepcast"}}},
               {"feasible", first.projection.feasible() && second.projection.feasible()},
               {"a", to_json(first.projection)},
               {"b", to_json(second.projection)}};
  if (both_timed(first, second)) {
    const Difference d = difference_of(first, second);
    json["total"] = kTerms.json(kTermMembers, d.total);
    json["difference"] = kTerms.json_rows(kTermMembers, d.terms);
    json["operators"] = kTerms.json_rows(kTermMembers, d.operators);
  }
  return json;
}

std::string difference_to_csv(const Explanation& first, const Explanation& second) {
  std::string text = "kind," + Columns<Term>::csv_titles(kTermCells) + "\n";
  if (!both_timed(first, second)) {
    return text;
  }
  const auto add = [&text](const char* kind, const DifferenceTerm& term) {
    text += std::string(kind) + "," + kTerms.csv_cells(kTermCells, term) + "\n";
  };
  const Difference d = difference_of(first, second);
  for (const DifferenceTerm& term : d.terms) {
    add("term", term);
  }
  add("total", d.total);
  for (const DifferenceTerm& term : d.operators) {
    add("operator", term);
  }
  return text;
}

}  // namespace stepcast
