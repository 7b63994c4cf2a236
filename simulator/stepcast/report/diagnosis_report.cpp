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
#include "stepcast/diagnosis/trace_evidence.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/published_runs_report.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kTold = 5;  // causes of which more is told than their row

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
  return significant(*fit.size, kDigits) + " " + fit.unit + (fit.at_bound ? ", the bound" : "");
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

constexpr auto kFastestColumns = std::to_array<Column<FastestWay>>({
    {"settings", "settings", [](const FastestWay& w) { return object_of(w.settings); }},
    {"tokens_per_second_per_gpu", "", member<&FastestWay::tokens_per_second_per_gpu>},
    {"gain", "", member<&FastestWay::gain>, as_times},
    {"peak_memory_bytes", "", member<&FastestWay::peak_memory>},
    {"tried", "", member<&FastestWay::tried>},
});
constexpr Columns<FastestWay> kFastest{kFastestColumns};

// A part of the traced step, with what is to be said of it.
struct PartRow {
  const TracedStep* trace;
  const StepPart* part;
};
// "as_projected" as people read it.
std::string as_words(const Value& name) {
  std::string text = as_text(name);
  std::ranges::replace(text, '_', ' ');
  return text;
}

constexpr auto kPartColumns = std::to_array<Column<PartRow>>({
    {"part", "part", [](const PartRow& r) { return Value(r.part->name); }, as_text, Align::kLeft},
    {"measured_s", "traced", [](const PartRow& r) { return Value(r.part->measured.value()); },
     as_time},
    {"projected_s", "projected", [](const PartRow& r) { return Value(r.part->projected.value()); },
     as_time},
    {"state", "the trace has it",
     [](const PartRow& r) { return Value(name(state_of(*r.trace, *r.part))); }, as_words,
     Align::kLeft},
});
constexpr Columns<PartRow> kParts{kPartColumns};

constexpr auto kMoveColumns = std::to_array<Column<MovedPart>>({
    {"part", "part", [](const MovedPart& m) { return Value(m.part->name); }},
    {"measured_s", "", [](const MovedPart& m) { return Value(m.part->measured.value()); }},
    {"without_s", "", [](const MovedPart& m) { return Value(m.part->projected.value()); }},
    {"with_s", "", [](const MovedPart& m) { return Value(m.projected.value()); }},
    {"seen", "", [](const MovedPart& m) { return Value(m.seen); }},
});
constexpr Columns<MovedPart> kMoves{kMoveColumns};

std::vector<PartRow> rows_of(const TracedStep& trace) {
  return each_of(trace.parts, [&trace](const StepPart& part) { return PartRow{&trace, &part}; });
}

std::string moved_text(const MovedPart& moved) {
  return moved.part->name + " " + as_time(Value(moved.part->projected.value())) + " to " +
         as_time(Value(moved.projected.value())) + ", traced " +
         as_time(Value(moved.part->measured.value())) + (moved.seen ? " (seen)" : " (not seen)");
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

std::string way_text(const std::optional<FastestWay>& way, const std::string& title,
                     const std::string& what) {
  if (!way || way->tried == 0) {
    return "";
  }
  const std::string of = with_separators(way->tried) + " " + what;
  return way->settings.empty()
             ? line(title, "none of " + of + " is faster")
             : line(title, as_number<1>(Value(way->tokens_per_second_per_gpu)) + " tokens/s/GPU, " +
                               as_times(Value(way->gain)) + " of the projected, " + "of " + of +
                               ": " + settings_text(way->settings));
}

std::string could_be_text(const Diagnosis& d) {
  return way_text(d.best_plan, "best plan", "plans") +
         way_text(d.best_software, "best software", "sets of its family and beneath it") +
         published_to_text(d.published);
}

std::string trace_text(const Diagnosis& d) {
  if (!d.trace) {
    return "";
  }
  return "\nParts of the traced step, " + d.trace->file + ", of " +
         as_time(Value(d.trace->step.value())) + "\n" +
         kParts.table("part measured_s projected_s state", rows_of(*d.trace)).text() +
         text_list(d.trace->doubts, "",
                   [](const std::string& doubt) { return line("doubt", doubt); });
}

// Of each cause that is told: the parts that it moves, and which of them the trace has so.
std::string moves_text(const Diagnosis& d) {
  if (!d.trace || d.causes.empty()) {
    return "";
  }
  std::string text =
      "\nWhat each moves in the trace: projected without it and with it, and traced\n";
  for (std::size_t i = 0; i < std::min(kTold, d.causes.size()); ++i) {
    const std::vector<MovedPart> moved = moved_parts(*d.trace, d.causes[i]);
    text += "  " + std::string(info(d.causes[i].cause).title) + ": " +
            (moved.empty() ? "nothing" : text_list(moved, "; ", moved_text)) + "\n";
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
    return d.pace == Pace::kAsExpected && d.trace ? "\nNothing to explain: no cause is nearer to "
                                                    "the figures and the trace than none.\n"
           : d.pace == Pace::kAsExpected ? "\nNothing to explain: the figures are as near as those "
                                           "of other runs usually are.\n"
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
  if (d.trace && !fit.traced.empty()) {
    json["moves"] = kMoves.json_rows(moved_parts(*d.trace, fit));
  }
  return json;
}

}  // namespace

std::string to_text(const Diagnosis& d) {
  std::string text = heading(d.projection);
  if (d.projection.priced) {
    text += "\n" + head_of(d) + could_be_text(d) + points_text(d) + trace_text(d) + causes_text(d) +
            met_text(d) + moves_text(d) + pairs_text(d) + checks_text(d) + ruled_out_text(d);
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
  if (d.projection.expected_error && d.projection.expected_error->distribution) {
    const RateInterval interval =
        d.projection.expected_error->distribution->interval(Certainty::k80);
    json["pace_interval_80"] = {interval.low, interval.high};
  }
  if (d.best_plan) {
    json["best_plan"] = kFastest.json(*d.best_plan);
  }
  if (d.best_software) {
    json["best_software"] = kFastest.json(*d.best_software);
  }
  json["published"] = published_to_json(d.published);
  if (d.trace) {
    json["trace"] = {{"file", d.trace->file},
                     {"step_s", d.trace->step.value()},
                     {"parts", kParts.json_rows(rows_of(*d.trace))},
                     {"doubts", d.trace->doubts}};
  }
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
