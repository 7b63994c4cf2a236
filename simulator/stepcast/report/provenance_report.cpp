// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

struct KindWord {
  SourceKind kind;
  std::string_view word;
};
// In the order of the line.
constexpr std::array kWords = {
    KindWord{SourceKind::kMeasured, "measured"}, KindWord{SourceKind::kFitted, "fitted"},
    KindWord{SourceKind::kDerived, "derived"}, KindWord{SourceKind::kSpec, "specified"},
    KindWord{SourceKind::kAssumed, "assumed"}};

std::string_view word(SourceKind kind) {
  return std::ranges::find(kWords, kind, &KindWord::kind)->word;
}

std::string percent(double share) { return decimals(100.0 * share, 1) + " %"; }

using Constant = RestingConstant;
constexpr auto kConstantColumns = std::to_array<Column<Constant>>({
    {"share", "share", member<&Constant::share>, as_percent<1>},
    {"kind", "kind", [](const Constant& c) -> Value { return word(c.constant.kind); }, as_text,
     Align::kLeft},
    {"name", "constant", member<&Constant::constant, &Provenance::key>, as_text, Align::kLeft},
    {"value", "value", member<&Constant::constant, &Provenance::value>, as_text, Align::kLeft},
    {"file", "file", member<&Constant::constant, &Provenance::file>, as_text, Align::kLeft},
    {"source_key", "source, or why it is assumed", member<&Constant::constant, &Provenance::source>,
     as_text, Align::kLeft},
    {"source", "", member<&Constant::source>},
    {"note", "", member<&Constant::constant, &Provenance::note>},
    {"meaning", "", [](const Constant& c) -> Value { return meaning_of(c.constant.key); }},
});
constexpr Columns<Constant> kConstants{kConstantColumns};

// The sources that the table's keys stand for.
std::string legend(const std::vector<RestingConstant>& shown) {
  std::map<std::string, std::string> sources;
  for (const RestingConstant& entry : shown) {
    if (entry.source != entry.constant.source) {
      sources[entry.constant.source] = entry.source;
    }
  }
  std::string text = sources.empty() ? "" : "\nSources\n";
  for (const auto& [key, what] : sources) {
    text += line(key, what);
  }
  return text;
}

std::string table_of(const ProvenanceShares& shares) {
  constexpr double kWorthALine = 0.0005;
  std::vector<RestingConstant> shown;
  double rest = 0.0;
  for (const RestingConstant& entry : shares.constants) {
    if (entry.share >= kWorthALine) {
      shown.push_back(entry);
    } else {
      rest += entry.share;
    }
  }
  TextTable table = kConstants.table("share kind name value file source_key", shown);
  if (const auto more = std::ssize(shares.constants) - std::ssize(shown); more > 0) {
    table.add_row({percent(rest), "", std::to_string(more) + " more, each below 0.05 %"});
  }
  return table.text() + legend(shown);
}

}  // namespace

std::string provenance_text(const ProvenanceShares& shares) {
  return text_list(kWords, ", ",
                   [&shares](const KindWord& entry) {
                     return percent(shares.of(entry.kind)) + " " + std::string(entry.word);
                   }) +
         " constants";
}

nlohmann::ordered_json provenance_to_json(const ProvenanceShares& shares) {
  Json json = Json::object();
  for (const KindWord& entry : kWords) {
    json[std::string(entry.word)] = shares.of(entry.kind);
  }
  return json;
}

std::string constants_to_text(const Projection& p) {
  std::string text = heading(p);
  if (p.provenance) {
    text += line("step time", readable(p.time.step));
    text += line("time rests on", provenance_text(*p.provenance));
    text += "\nConstants under the step's time, the weakest of each product of them\n" +
            table_of(*p.provenance);
  }
  return text + notes_and_reasons(p);
}

nlohmann::ordered_json constants_to_json(const Projection& p) {
  Json json = json_header(p);
  if (p.provenance) {
    json["step_time_s"] = p.time.step.value();
    json["provenance"] = provenance_to_json(*p.provenance);
    json["constants"] = kConstants.json_rows("name value kind source note meaning file share",
                                             p.provenance->constants);
  }
  return json;
}

std::string constants_to_csv(const Projection& p) {
  return kConstants.csv("share kind name:constant value file",
                        p.provenance ? p.provenance->constants : std::vector<RestingConstant>{});
}

}  // namespace stepcast
