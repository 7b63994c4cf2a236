// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "stepcast/base/csv_cell.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/trace_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Json error_json(Seconds measured, Seconds predicted) {
  return measured > Seconds{} && predicted > Seconds{} ? Json(predicted / measured - 1.0)
                                                       : Json(nullptr);
}

Json shape_json(const std::optional<WorkShape>& shape) {
  return shape ? Json(shape_text(*shape)) : Json(nullptr);
}

Json row_json(const ComparedRow& row) {
  return {{"category", name(row.category)},
          {"shape", shape_json(row.shape)},
          {"operators", row.ours},
          {"traced", row.traced},
          {"traced_calls", row.traced_calls},
          {"projected_calls", row.our_calls},
          {"measured_s", row.measured.value()},
          {"waiting_s", row.waiting.value()},
          {"projected_s", row.predicted.value()},
          {"error", error_json(row.measured, row.predicted)}};
}

Json rows_json(const std::vector<ComparedRow>& rows) {
  return list_of(rows, [](const ComparedRow& row) -> Value { return row_json(row); });
}

Json categories_json(const std::vector<ComparedRow>& rows) {
  return list_of(rows, [](const ComparedRow& row) -> Value {
    return {{"category", name(row.category)},
            {"measured_s", row.measured.value()},
            {"waiting_s", row.waiting.value()},
            {"projected_s", row.predicted.value()},
            {"error", error_json(row.measured, row.predicted)}};
  });
}

Json trace_json(const ComparisonInput& input) {
  const MeasuredStep& step = input.measured;
  Json json = {{"file", input.file}, {"gpu", step.head.gpu}};
  json["rank"] = step.head.rank < 0 ? Json(nullptr) : Json(step.head.rank);
  json["world_size"] = step.head.world < 1 ? Json(nullptr) : Json(step.head.world);
  json["devices"] = step.devices;
  json["step"] = step.name.empty() ? Json(nullptr) : Json(step.name);
  json["steps_marked"] = step.steps;
  json["calls"] = step.summary.spans;
  json["calls_with_operator"] = step.with_operator;
  json["calls_in_graphs"] = step.in_graphs;
  return json;
}

Json wall_json(const StepComparison& comparison) {
  return list_of(comparison.wall, [](const WallTime& part) -> Value {
    return {{"name", part.name},
            {"measured_s", part.measured.value()},
            {"projected_s", part.predicted.value()}};
  });
}

Json streams_json(const StepComparison& comparison) {
  Json measured = Json::array();
  for (const TracedStream& stream : comparison.input.measured.streams) {
    measured.push_back({{"stream", stream.id},
                        {"calls", stream.calls},
                        {"busy_s", stream.busy.value()},
                        {"mostly", name(stream.mostly)}});
  }
  Json projected = Json::array();
  for (const ComparedStream& stream : comparison.our_streams) {
    projected.push_back({{"name", stream.name}, {"busy_s", stream.busy.value()}});
  }
  return {{"measured", measured}, {"projected", projected}};
}

Json rank_json(const RankTotals& rank) {
  Json waits = Json::array();
  for (const Seconds time : rank.waits_for) {
    waits.push_back(time.value());
  }
  return {{"file", rank.file},
          {"rank", rank.rank < 0 ? Json(nullptr) : Json(rank.rank)},
          {"step_s", rank.step.value()},
          {"computation_s", rank.computation.value()},
          {"communication_s", rank.communication.value()},
          {"waiting_s", rank.waiting.value()},
          {"exposed_s", rank.exposed.value()},
          {"idle_s", rank.idle.value()},
          {"last", rank.last},
          {"waited_for_s", rank.waited_for.value()},
          {"waits_for_s", waits}};
}

Json ranks_json(const RankWaiting& waiting) {
  Json ranks = Json::array();
  for (const RankTotals& rank : waiting.ranks) {
    ranks.push_back(rank_json(rank));
  }
  Json collectives = Json::array();
  for (const WaitedCollective& row : waiting.collectives) {
    Json times = Json::array();
    for (const Seconds time : row.waiting) {
      times.push_back(time.value());
    }
    collectives.push_back({{"category", name(row.category)},
                           {"shape", shape_json(row.shape)},
                           {"calls", row.calls},
                           {"transfer_s", row.transfer.value()},
                           {"waiting_s", times},
                           {"last", row.last}});
  }
  Json calls = Json::array();
  for (const WaitedCall& call : waiting.calls) {
    calls.push_back({{"start_s", call.start.value()},
                     {"category", name(call.category)},
                     {"shape", shape_json(call.shape)},
                     {"transfer_s", call.transfer.value()},
                     {"waiting_s", call.waiting.value()},
                     {"last", call.last}});
  }
  return {
      {"ranks", ranks}, {"collectives", collectives}, {"calls", calls}, {"alone", waiting.alone}};
}

// --- CSV ----------------------------------------------------------------------------------------

std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& part : names) {
    text += (text.empty() ? "" : " + ") + part;
  }
  return text;
}

std::string csv_row(const std::string& section, const ComparedRow& row) {
  std::string text = section + "," + std::string(name(row.category)) + "," +
                     csv_cell(row.shape ? shape_text(*row.shape) : "") + "," +
                     csv_cell(joined_names(row.ours)) + "," + csv_cell(joined_names(row.traced));
  for (const double value : {row.traced_calls, row.our_calls, row.measured.value(),
                             row.waiting.value(), row.predicted.value()}) {
    text += "," + shortest_text(value);
  }
  return text + "\n";
}

}  // namespace

nlohmann::ordered_json to_json(const StepComparison& comparison) {
  const ComparisonInput& input = comparison.input;
  Json json = json_header(input.projection);
  json["trace"] = trace_json(input);
  json["state"] = name(input.state);
  json["pipeline_rank"] = input.pipeline_rank;
  const std::optional<double> error = comparison.error();
  json["step"] = {{"measured_s", input.measured.summary.step.value()},
                  {"projected_s", input.predicted.step.value()},
                  {"error", error ? Json(*error) : Json(nullptr)},
                  {"steady_s", input.steady.value()}};
  json["time"] = wall_json(comparison);
  json["categories"] = categories_json(comparison.categories);
  json["operators"] = rows_json(comparison.operators);
  json["only_in_trace"] = rows_json(comparison.only_traced);
  json["only_in_projection"] = rows_json(comparison.only_ours);
  json["without_shape"] = rows_json(comparison.without_shape);
  json["matched_share"] = comparison.matched_share;
  json["streams"] = streams_json(comparison);
  if (input.ranks) {
    json["ranks"] = ranks_json(*input.ranks);
  }
  json["notes"] = input.notes;
  return json;
}

std::string to_csv(const StepComparison& comparison) {
  std::string text =
      "section,category,shape,operators,traced,traced_calls,projected_calls,measured_s,waiting_s,"
      "projected_s\n";
  for (const WallTime& part : comparison.wall) {
    text += "time," + std::string(part.name) + ",,,,,," + shortest_text(part.measured.value()) +
            ",," + shortest_text(part.predicted.value()) + "\n";
  }
  const auto add = [&text](const char* section, const std::vector<ComparedRow>& rows) {
    for (const ComparedRow& row : rows) {
      text += csv_row(section, row);
    }
  };
  add("category", comparison.categories);
  add("operator", comparison.operators);
  add("only_in_trace", comparison.only_traced);
  add("only_in_projection", comparison.only_ours);
  add("without_shape", comparison.without_shape);
  return text;
}

}  // namespace stepcast
