// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

// "sonic (rank_dedup + rank_dedup)".
std::string winner_text(const DispatcherTime& winner) {
  return std::string(name(winner.dispatcher)) + " (" + std::string(name(winner.dispatch)) + " + " +
         std::string(name(winner.combine)) + ")";
}

constexpr auto kPointColumns = std::to_array<Column<MapPoint>>({
    {"ranks", "ranks", member<&MapPoint::ranks>},
    {"nodes", "nodes", member<&MapPoint::nodes>},
    {"topk", "top", member<&MapPoint::topk>},
    {"tokens", "tokens", member<&MapPoint::tokens>},
});
constexpr Columns<MapPoint> kPoints{kPointColumns};
constexpr std::string_view kOfPoint = "ranks nodes topk tokens";

std::string map_table(const std::vector<MapRow>& rows) {
  std::vector<TextTable::Column> titles = kPoints.titles(kOfPoint);
  for (const std::string_view dispatcher : names_of<Dispatcher>()) {
    titles.push_back({dispatcher, Align::kRight});
  }
  titles.push_back({"fastest"});
  TextTable table(std::move(titles));
  for (const MapRow& row : rows) {
    std::vector<std::string> cells = kPoints.cells(kOfPoint, row.point);
    for (const DispatcherTime& entry : row.times) {
      cells.push_back(entry.time ? as_milliseconds(entry.time->value()) : "-");
    }
    const DispatcherTime* winner = row.winner();
    cells.push_back(winner == nullptr ? "-" : winner_text(*winner));
    table.add_row(std::move(cells));
  }
  return table.text();
}

Value map_row_json(const MapRow& row) {
  Value json = kPoints.json(row.point);
  const DispatcherTime* winner = row.winner();
  json["fastest"] = winner == nullptr ? Value(nullptr) : Value(name(winner->dispatcher));
  Value& times = json["times"] = Value::object();
  for (const DispatcherTime& entry : row.times) {
    if (entry.time) {
      times[std::string(name(entry.dispatcher))] = {{"time_s", entry.time->value()},
                                                    {"dispatch_primitive", name(entry.dispatch)},
                                                    {"combine_primitive", name(entry.combine)}};
    }
  }
  return json;
}

constexpr auto kLeftOutColumns = std::to_array<Column<LeftOut>>({
    {"dispatcher", "", member<&LeftOut::dispatcher>},
    {"rows", "", member<&LeftOut::points>},
    {"reason", "", member<&LeftOut::reason>},
});
constexpr Columns<LeftOut> kLeftOut{kLeftOutColumns};

}  // namespace

std::string to_text(const DispatcherMap& map) {
  std::string text = heading(map.projection);
  if (map.projection.priced) {
    text +=
        "\nDispatchers: ms of a forward and a backward between the router and the sum of the "
        "experts' results,\nwithout the experts, at " +
        decimals(map.clock.value() / 1e6, 1) + " MHz\n" + map_table(map.rows);
    for (const LeftOut& entry : map.left_out) {
      text += line("left out", kLeftOut.text("dispatcher", entry) + " in " +
                                   kLeftOut.text("rows", entry) + " of " +
                                   std::to_string(map.rows.size()) + " rows: " + entry.reason);
    }
  }
  return text + notes_and_reasons(map.projection);
}

nlohmann::ordered_json to_json(const DispatcherMap& map) {
  Value json = json_header(map.projection);
  if (map.projection.priced) {
    json["clock_mhz"] = map.clock.value() / 1e6;
    json["map"] = list_of(map.rows, map_row_json);
    json["left_out"] = kLeftOut.json_rows(map.left_out);
  }
  return json;
}

}  // namespace stepcast
