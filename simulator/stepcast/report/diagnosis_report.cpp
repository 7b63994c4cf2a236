// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/diagnosis_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/diagnosis/cause_info.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

std::string keys_of(const KeySettings& settings) {
  return text_list(settings, ", ", [](const auto& entry) { return entry.first; });
}

std::string settings_text(const KeySettings& settings) {
  return text_list(settings, ", ",
                   [](const auto& entry) { return entry.first + "=" + entry.second; });
}

std::string as_times(const Value& value) { return decimals(value.get<double>(), 2) + "x"; }

// As people read a size; the settings have it to the last digit.
std::string size_text(const CauseFit& fit) {
  if (!fit.size) {
    return fit.form;
  }
  constexpr int kDigits = 3;
  return (fit.at_bound ? "beyond " : "") + significant(*fit.size, kDigits) + " " + fit.unit;
}

Value checks_of(const CauseFit& fit) {
  return list_of(info(fit.cause).checks, [](std::string_view check) { return Value(check); });
}

constexpr auto kFitColumns = std::to_array<Column<CauseFit>>({
    {"cause", "cause", member<&CauseFit::cause>, as_text, Align::kLeft},
    {"title", "cause", [](const CauseFit& f) { return Value(info(f.cause).title); }, as_text,
     Align::kLeft},
    {"form", "form", member<&CauseFit::form>, as_text, Align::kLeft},
    {"key", "key", [](const CauseFit& f) { return Value(keys_of(f.settings)); }, as_text,
     Align::kLeft},
    {"settings", "settings", [](const CauseFit& f) { return object_of(f.settings); }},
    {"set", "as --set", [](const CauseFit& f) { return Value(settings_text(f.settings)); }, as_text,
     Align::kLeft},
    {"size", "size", [](const CauseFit& f) { return f.size ? Value(*f.size) : Value(nullptr); }},
    {"size_text", "size", [](const CauseFit& f) { return Value(size_text(f)); }},
    {"unit", "unit", member<&CauseFit::unit>, as_text, Align::kLeft},
    {"at_bound", "at bound", member<&CauseFit::at_bound>, as_yes_or_no},
    {"meets", "meets all", member<&CauseFit::meets>, as_yes_or_no},
    {"score", "score", member<&CauseFit::score>, as_percent<1>},
    {"checks", "checks", checks_of},
    {"gain", "gain", member<&CauseFit::gain>, as_times},
});
constexpr Columns<CauseFit> kFits{kFitColumns};

// A point with what is projected of it.
struct FigureRow {
  const MeasuredPoint* point;
  Figure projected;
};

constexpr auto kFigureColumns = std::to_array<Column<FigureRow>>({
    {"point", "point", [](const FigureRow& r) { return Value(settings_text(r.point->settings)); },
     as_text, Align::kLeft},
    {"metric", "metric", [](const FigureRow& r) { return Value(key_of(r.projected.metric)); },
     as_text, Align::kLeft},
    {"measured", "measured", [](const FigureRow& r) { return Value(r.point->measured.value); }},
    {"projected", "projected", [](const FigureRow& r) { return Value(r.projected.value); }},
    {"measured_text", "measured",
     [](const FigureRow& r) { return Value(text_of(r.point->measured)); }},
    {"projected_text", "projected", [](const FigureRow& r) { return Value(text_of(r.projected)); }},
});
constexpr Columns<FigureRow> kFigures{kFigureColumns};
constexpr std::string_view kFigureMembers = "point metric measured projected";

std::vector<FigureRow> rows_of(const Diagnosis& diagnosis, const std::vector<Figure>& projected) {
  std::vector<FigureRow> rows;
  for (std::size_t i = 0; i < projected.size(); ++i) {
    rows.push_back({&diagnosis.points[i], projected[i]});
  }
  return rows;
}

std::string_view pace_text(Pace pace) {
  switch (pace) {
    case Pace::kAsExpected:
      return "as expected, within the 80 % interval";
    case Pace::kSlow:
      return "slow, below the 80 % interval";
    case Pace::kFast:
      return "fast, above the 80 % interval";
  }
  return "";
}

std::string head_of(const Diagnosis& d) {
  const Projection& p = d.projection;
  std::string text = line("measured", text_of(d.points.front().measured)) +
                     line("projected", text_of(d.projected.front())) +
                     line("tokens/s against it",
                          decimals(d.pace_ratio, 2) + " times: " + std::string(pace_text(d.pace)));
  if (p.expected_error) {
    text += line("expected error", expected_error_text(*p.expected_error));
  }
  return text;
}

std::string points_text(const Diagnosis& d) {
  if (d.points.size() < 2) {
    return "";
  }
  return "\nWithout any cause\n" +
         kFigures.table("point measured_text projected_text", rows_of(d, d.projected)).text();
}

// What the figures are with a cause, where they are not met all.
std::string explained_text(const std::vector<Figure>& projected) {
  return text_list(projected, ", ", [](const Figure& figure) { return text_of(figure); });
}

std::string causes_text(const Diagnosis& d) {
  if (d.causes.empty()) {
    return d.pace == Pace::kAsExpected
               ? "\nNothing to explain: no figure is off by more than the noise of a measurement.\n"
               : "\nNo cause that has a key explains it.\n";
  }
  std::vector<TextTable::Column> titles = kFits.titles("title score meets size_text gain");
  titles.push_back({"explains"});
  titles.push_back({"as --set"});
  TextTable table(titles);
  for (const CauseFit& fit : d.causes) {
    std::vector<std::string> cells = kFits.cells("title score meets size_text gain", fit);
    cells.push_back(explained_text(fit.projected));
    cells.push_back(settings_text(fit.settings));
    table.add_row(std::move(cells));
  }
  return "\nCauses, the likeliest first: score, and the tokens/s without the cause over those with "
         "it\n" +
         table.text();
}

// Scores are of those that are listed: where none explains the figures, the first is no better.
std::string met_text(const Diagnosis& d) {
  const bool met = std::ranges::any_of(d.causes, &CauseFit::meets);
  return met || d.causes.empty()
             ? ""
             : "  None of them leaves as little of the figures as chance does: something "
               "else is the cause, or several are.\n";
}

std::string pairs_text(const Diagnosis& d) {
  if (d.pairs.empty()) {
    return "";
  }
  std::string text = "\nTwo at once, that explain more than one\n";
  for (const CausePair& pair : d.pairs) {
    text += "  " + std::string(info(pair.first.cause).title) + " " + size_text(pair.first) +
            " and " + std::string(info(pair.second.cause).title) + " " + size_text(pair.second) +
            ": " + explained_text(pair.projected) + "\n";
  }
  return text;
}

std::string checks_text(const Diagnosis& d) {
  if (d.causes.empty()) {
    return "";
  }
  constexpr std::size_t kTold = 5;
  std::string text = "\nHow to check\n";
  for (std::size_t i = 0; i < std::min(kTold, d.causes.size()); ++i) {
    const CauseInfo& known = info(d.causes[i].cause);
    text += "  " + std::string(known.title) + "\n";
    for (const std::string_view check : known.checks) {
      text += "    " + std::string(check) + "\n";
    }
  }
  return text;
}

std::string ruled_out_text(const Diagnosis& d) {
  if (d.ruled_out.empty()) {
    return "";
  }
  const std::string causes =
      text_list(d.ruled_out, ", ", [](Cause cause) { return std::string(info(cause).title); });
  return "\n" + line("ruled out", causes + ": without effect here, or not possible");
}

Value cause_json(const Diagnosis& d, const CauseFit& fit, const std::vector<Figure>& projected) {
  Value json = kFits.json("cause form key settings size unit at_bound meets score", fit);
  json["explains"] = kFigures.json_rows(kFigureMembers, rows_of(d, projected));
  kFits.add("checks gain", fit, json);
  return json;
}

}  // namespace

std::string to_text(const Diagnosis& d) {
  std::string text = heading(d.projection);
  if (d.projection.priced) {
    text += "\n" + head_of(d) + points_text(d) + causes_text(d) + met_text(d) + pairs_text(d) +
            checks_text(d) + ruled_out_text(d);
  }
  return text + notes_and_reasons(d.projection);
}

nlohmann::ordered_json to_json(const Diagnosis& d) {
  nlohmann::ordered_json json = json_header(d.projection);
  if (!d.projection.priced) {
    return json;
  }
  json["pace"] = name(d.pace);
  json["pace_ratio"] = d.pace_ratio;
  json["figures"] = kFigures.json_rows(kFigureMembers, rows_of(d, d.projected));
  json["causes"] =
      list_of(d.causes, [&d](const CauseFit& fit) { return cause_json(d, fit, fit.projected); });
  json["pairs"] = list_of(d.pairs, [&d](const CausePair& pair) {
    Value both = {
        {"causes",
         {cause_json(d, pair.first, pair.projected), cause_json(d, pair.second, pair.projected)}},
        {"chi_squared", pair.chi_squared}};
    return both;
  });
  json["ruled_out"] = list_of(d.ruled_out, [](Cause cause) { return Value(name(cause)); });
  return json;
}

std::string to_csv(const Diagnosis& d) {
  return kFits.csv("cause form set:settings size unit at_bound meets score gain", d.causes);
}

}  // namespace stepcast
