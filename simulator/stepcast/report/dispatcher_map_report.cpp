// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// "sonic (rank_dedup + rank_dedup)".
std::string winner_text(const DispatcherTime& winner) {
  return std::string(name(winner.dispatcher)) + " (" + std::string(name(winner.dispatch)) + " + " +
         std::string(name(winner.combine)) + ")";
}

TextTable empty_map_table() {
  std::vector<TextTable::Column> columns = {{"ranks", Align::kRight},
                                            {"nodes", Align::kRight},
                                            {"top", Align::kRight},
                                            {"tokens", Align::kRight}};
  for (const std::string_view dispatcher : names_of<Dispatcher>()) {
    columns.push_back({dispatcher, Align::kRight});
  }
  columns.push_back({"fastest"});
  return TextTable(std::move(columns));
}

std::vector<std::string> map_cells(const MapRow& row) {
  const MapPoint& point = row.point;
  std::vector<std::string> cells = {std::to_string(point.ranks), std::to_string(point.nodes),
                                    std::to_string(point.topk), std::to_string(point.tokens)};
  for (const DispatcherTime& entry : row.times) {
    cells.push_back(entry.time ? decimals(1e3 * entry.time->value(), 2) : "-");
  }
  const DispatcherTime* winner = row.winner();
  cells.push_back(winner == nullptr ? "-" : winner_text(*winner));
  return cells;
}

Json map_row_json(const MapRow& row) {
  Json json = {{"ranks", row.point.ranks},
               {"nodes", row.point.nodes},
               {"topk", row.point.topk},
               {"tokens", row.point.tokens}};
  const DispatcherTime* winner = row.winner();
  json["fastest"] = winner == nullptr ? Json(nullptr) : Json(name(winner->dispatcher));
  Json& times = json["times"] = Json::object();
  for (const DispatcherTime& entry : row.times) {
    if (entry.time) {
      times[std::string(name(entry.dispatcher))] = {{"time_s", entry.time->value()},
                                                    {"dispatch_primitive", name(entry.dispatch)},
                                                    {"combine_primitive", name(entry.combine)}};
    }
  }
  return json;
}

}  // namespace

std::string to_text(const DispatcherMap& map) {
  std::string text = heading(map.projection);
  if (map.projection.priced) {
    TextTable table = empty_map_table();
    for (const MapRow& row : map.rows) {
      table.add_row(map_cells(row));
    }
    text +=
        "\nDispatchers: ms of a forward and a backward between the router and the sum of the "
        "experts' results,\nwithout the experts, at " +
        decimals(map.clock.value() / 1e6, 1) + " MHz\n" + table.text();
    for (const LeftOut& entry : map.left_out) {
      text += line("left out", std::string(name(entry.dispatcher)) + " in " +
                                   std::to_string(entry.points) + " of " +
                                   std::to_string(map.rows.size()) + " rows: " + entry.reason);
    }
  }
  return text + notes_and_reasons(map.projection);
}

nlohmann::ordered_json to_json(const DispatcherMap& map) {
  Json json = json_header(map.projection);
  if (!map.projection.priced) {
    return json;
  }
  json["clock_mhz"] = map.clock.value() / 1e6;
  json["map"] = list_of(map.rows, [&](const MapRow& row) -> Value { return map_row_json(row); });
  json["left_out"] = list_of(map.left_out, [&](const LeftOut& entry) -> Value {
    return {
        {"dispatcher", name(entry.dispatcher)}, {"rows", entry.points}, {"reason", entry.reason}};
  });
  return json;
}

}  // namespace stepcast
