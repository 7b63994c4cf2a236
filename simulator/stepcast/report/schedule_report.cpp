// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/step_reports.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// The fastest that can run; nullptr if none can.
const Projection* fastest(const std::vector<Projection>& projections) {
  const Projection* best = nullptr;
  for (const Projection& p : projections) {
    if (p.feasible() && (best == nullptr || p.time.step < best->time.step)) {
      best = &p;
    }
  }
  return best;
}

std::string schedule_of(const Projection& p) { return std::string(name(p.plan.schedule)); }

// What describes them all: the one of 1F1B, which allows any pipeline.
const Projection& common(const std::vector<Projection>& projections) {
  const auto plain = std::ranges::find_if(
      projections, [](const Projection& p) { return p.plan.schedule == Schedule::kOneFOneB; });
  return plain == projections.end() ? projections.front() : *plain;
}

std::string table(const std::vector<Projection>& projections) {
  std::vector<Projection> priced;
  std::ranges::copy_if(projections, std::back_inserter(priced),
                       [](const Projection& p) { return p.priced; });
  return projection_columns()
      .table(
          "schedule vpp step_time_s:step tokens_per_second_per_gpu interval bubble_share in_flight "
          "peak_memory_bytes feasible",
          priced)
      .text();
}

std::string refused(const std::vector<Projection>& projections) {
  TextTable reasons({{"  schedule"}, {"reason"}});
  bool any = false;
  for (const Projection& p : projections) {
    if (!p.priced) {
      for (const std::string& reason : p.reasons) {
        reasons.add_row({"  " + schedule_of(p), reason});
        any = true;
      }
    }
  }
  return any ? "\nThese cannot run:\n" + reasons.text() : "";
}

}  // namespace

std::string schedules_to_text(const std::vector<Projection>& projections) {
  std::string text = heading(common(projections));
  const bool any_priced = std::ranges::any_of(projections, &Projection::priced);
  if (any_priced) {
    text += "\n" + table(projections);
  }
  if (const Projection* best = fastest(projections)) {
    text += "\n" + line("fastest that fits", schedule_of(*best));
  }
  return text + refused(projections);
}

nlohmann::ordered_json schedules_to_json(const std::vector<Projection>& projections) {
  Json json = json_header(common(projections));
  json["feasible"] = any_feasible(projections);
  json.erase("reasons");
  Json& plan = json["context"]["input"]["plan"];
  // Each schedule has its own.
  for (const char* key : {"schedule", "vpp", "stage_layout"}) {
    plan.erase(key);
  }
  if (plan.contains("given")) {
    plan["given"].erase("schedule");
    plan["given"].erase("vpp");
  }
  if (const Projection* best = fastest(projections)) {
    json["fastest_that_fits"] = schedule_of(*best);
  }
  json["schedules"] = projection_columns().json_rows(
      "schedule vpp feasible reasons step_time_s tokens_per_second_per_gpu expected_error "
      "bubble_share in_flight peak_memory_bytes",
      projections);
  return json;
}

std::string schedules_to_csv(const std::vector<Projection>& projections) {
  return projection_columns().csv(
      "schedule vpp feasible tokens_per_second_per_gpu step_time_s bubble_share in_flight "
      "peak_memory_bytes " STEPCAST_INTERVAL_COLUMNS,
      projections);
}

bool any_feasible(const std::vector<Projection>& projections) {
  return fastest(projections) != nullptr;
}

}  // namespace stepcast
