// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/provenance_report.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/hardware/placed_constants.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

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
  return std::find_if(kWords.begin(), kWords.end(),
                      [kind](const KindWord& entry) { return entry.kind == kind; })
      ->word;
}

std::string percent(double share) { return decimals(100.0 * share, 1) + " %"; }

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
  TextTable table({{"share", Align::kRight},
                   {"kind"},
                   {"constant"},
                   {"value"},
                   {"file"},
                   {"source, or why it is assumed"}});
  std::vector<RestingConstant> shown;
  double rest = 0.0;
  for (const RestingConstant& entry : shares.constants) {
    if (entry.share < kWorthALine) {
      rest += entry.share;
      continue;
    }
    shown.push_back(entry);
    table.add_row({percent(entry.share), std::string(word(entry.constant.kind)), entry.constant.key,
                   entry.constant.value, entry.constant.file, entry.constant.source});
  }
  if (const auto more = std::ssize(shares.constants) - std::ssize(shown); more > 0) {
    table.add_row({percent(rest), "", std::to_string(more) + " more, each below 0.05 %"});
  }
  return table.text() + legend(shown);
}

Json constant_json(const RestingConstant& entry) {
  const Provenance& constant = entry.constant;
  return {{"name", constant.key},        {"value", constant.value},
          {"kind", word(constant.kind)}, {"source", entry.source},
          {"note", constant.note},       {"meaning", meaning_of(constant.key)},
          {"file", constant.file},       {"share", entry.share}};
}

}  // namespace

std::string provenance_text(const ProvenanceShares& shares) {
  std::string text;
  for (const KindWord& entry : kWords) {
    text +=
        (text.empty() ? "" : ", ") + percent(shares.of(entry.kind)) + " " + std::string(entry.word);
  }
  return text + " constants";
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
    Json& constants = json["constants"] = Json::array();
    for (const RestingConstant& entry : p.provenance->constants) {
      constants.push_back(constant_json(entry));
    }
  }
  return json;
}

std::string constants_to_csv(const Projection& p) {
  std::string text = "share,kind,constant,value,file\n";
  if (p.provenance) {
    for (const RestingConstant& entry : p.provenance->constants) {
      const Provenance& constant = entry.constant;
      text += shortest_text(entry.share) + "," + std::string(word(constant.kind)) + "," +
              csv_cell(constant.key) + "," + csv_cell(constant.value) + "," +
              csv_cell(constant.file) + "\n";
    }
  }
  return text;
}

}  // namespace stepcast
