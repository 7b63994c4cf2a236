// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/schedule_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/expected_error_text.hpp"
#include "stepcast/report/json_report.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

double bubble_share(const Projection& p) { return p.time.breakdown.bubble / p.time.step; }

double most_in_flight(const Projection& p) {
  double most = 0.0;
  for (const StageMemory& stage : p.memory) {
    most = std::max(most, stage.in_flight);
  }
  return most;
}

// The fastest that can run; nullptr if none can.
const Projection* fastest(const std::vector<Projection>& projections) {
  const Projection* best = nullptr;
  for (const Projection& p : projections) {
    if (p.feasible && (best == nullptr || p.time.step < best->time.step)) {
      best = &p;
    }
  }
  return best;
}

std::string schedule_of(const Projection& p) { return std::string(name(p.plan.schedule)); }

// What describes them all: the one of 1F1B, which allows any pipeline.
const Projection& common(const std::vector<Projection>& projections) {
  const auto plain = std::find_if(projections.begin(), projections.end(), [](const Projection& p) {
    return p.plan.schedule == Schedule::kOneFOneB;
  });
  return plain == projections.end() ? projections.front() : *plain;
}

std::string table(const std::vector<Projection>& projections) {
  TextTable table({{"schedule", Align::kLeft},
                   {"vpp", Align::kRight},
                   {"step", Align::kRight},
                   {"tokens/s/GPU", Align::kRight},
                   {"80 % interval", Align::kRight},
                   {"bubble", Align::kRight},
                   {"in flight", Align::kRight},
                   {"peak memory", Align::kRight},
                   {"fits", Align::kLeft}});
  for (const Projection& p : projections) {
    if (p.priced) {
      table.add_row({schedule_of(p), std::to_string(p.plan.vpp), readable(p.time.step),
                     decimals(p.tokens_per_second_per_gpu, 1),
                     interval_text(p.expected_error, p.tokens_per_second_per_gpu, Certainty::k80),
                     decimals(100.0 * bubble_share(p), 2) + " %", decimals(most_in_flight(p), 1),
                     readable(p.peak_memory()), p.feasible ? "yes" : "no"});
    }
  }
  return table.text();
}

std::string refused(const std::vector<Projection>& projections) {
  std::string text;
  for (const Projection& p : projections) {
    if (!p.priced) {
      for (const std::string& reason : p.reasons) {
        text += "  " + padded(schedule_of(p), 18) + reason + "\n";
      }
    }
  }
  return text.empty() ? text : "\nThese cannot run:\n" + text;
}

}  // namespace

std::string schedules_to_text(const std::vector<Projection>& projections) {
  std::string text = heading(common(projections));
  const bool any_priced = std::any_of(projections.begin(), projections.end(),
                                      [](const Projection& p) { return p.priced; });
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
  Json rows = Json::array();
  for (const Projection& p : projections) {
    Json row = {{"schedule", schedule_of(p)},
                {"vpp", p.plan.vpp},
                {"feasible", p.feasible},
                {"reasons", p.reasons}};
    if (p.priced) {
      row["step_time_s"] = p.time.step.value();
      row["tokens_per_second_per_gpu"] = p.tokens_per_second_per_gpu;
      if (p.expected_error) {
        row["expected_error"] = to_json(*p.expected_error);
      }
      row["bubble_share"] = bubble_share(p);
      row["in_flight"] = most_in_flight(p);
      row["peak_memory_bytes"] = p.peak_memory().value();
    }
    rows.push_back(std::move(row));
  }
  json["schedules"] = std::move(rows);
  return json;
}

std::string schedules_to_csv(const std::vector<Projection>& projections) {
  std::string text =
      "schedule,vpp,feasible,tokens_per_second_per_gpu,step_time_s,bubble_share,in_flight,"
      "peak_memory_bytes," +
      std::string(kIntervalColumns) + "\n";
  for (const Projection& p : projections) {
    text += schedule_of(p) + "," + std::to_string(p.plan.vpp) + "," +
            (p.feasible ? "true" : "false") + ",";
    if (p.priced) {
      for (const double value : {p.tokens_per_second_per_gpu, p.time.step.value(), bubble_share(p),
                                 most_in_flight(p), p.peak_memory().value()}) {
        text += shortest_text(value) + ",";
      }
    } else {
      text += ",,,,,";
    }
    text += interval_cells(p.priced ? p.expected_error : std::nullopt) + "\n";
  }
  return text;
}

bool any_feasible(const std::vector<Projection>& projections) {
  return fastest(projections) != nullptr;
}

}  // namespace stepcast
