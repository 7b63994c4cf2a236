// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/scaling_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "stepcast/plan/plan_keys.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kOwnColumn = 0.0005;  // of the rate of the smallest size

// Against which the others lose.
const ScaledSize* first_that_runs(const ScalingCurve& curve) {
  const auto first = std::ranges::find_if(
      curve.sizes, [](const ScaledSize& size) { return size.projection.feasible(); });
  return first == curve.sizes.end() ? nullptr : &*first;
}

// The size that tells what all have in common, with the notes of the curve before its own.
Projection described(const ScalingCurve& curve) {
  const ScaledSize* first = first_that_runs(curve);
  const auto any = std::ranges::find_if(curve.sizes, &ScaledSize::exists);
  Projection about = first != nullptr           ? first->projection
                     : any != curve.sizes.end() ? any->projection
                                                : curve.sizes.front().projection;
  about.notes.insert(about.notes.begin(), curve.notes.begin(), curve.notes.end());
  return about;
}

double share_of(const ScaledSize& size, std::size_t cause) {
  return size.parts.empty() ? 0.0 : size.parts[cause].share;
}

// The places of the causes that have a column of their own.
std::vector<std::size_t> shown_causes(const ScalingCurve& curve, const ScaledSize& first) {
  std::vector<std::size_t> shown;
  for (std::size_t cause = 0; cause < first.parts.size(); ++cause) {
    if (std::ranges::any_of(curve.sizes, [cause](const ScaledSize& size) {
          return std::abs(share_of(size, cause)) >= kOwnColumn;
        })) {
      shown.push_back(cause);
    }
  }
  return shown;
}

std::string lost(double share) {
  const std::string digits = as_percent<1>(std::abs(share));
  return (share < 0.0 && digits != "0.0 %" ? "-" : "") + digits;
}

std::string table(const ScalingCurve& curve, const ScaledSize& first) {
  const Columns<Projection>& columns = projection_columns();
  constexpr std::string_view kCells =
      "gpus global_batch_size tokens_per_second_per_gpu interval step_time_s:step";
  const std::vector<std::size_t> shown = shown_causes(curve, first);
  std::vector<TextTable::Column> titles = columns.titles(kCells);
  titles.push_back({"lost", Align::kRight});
  for (const std::size_t cause : shown) {
    titles.push_back({first.parts[cause].cause, Align::kRight});
  }
  titles.push_back({"others", Align::kRight});
  TextTable table(std::move(titles));
  for (const ScaledSize& size : curve.sizes) {
    std::vector<std::string> cells = {columns.text("gpus", size.projection)};
    if (size.exists) {
      cells = columns.cells(kCells, size.projection);
    }
    if (!size.parts.empty()) {
      double others = size.loss;
      cells.push_back(lost(size.loss));
      for (const std::size_t cause : shown) {
        cells.push_back(lost(share_of(size, cause)));
        others -= share_of(size, cause);
      }
      cells.push_back(lost(others));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

// Of a pipeline of one rank there is no schedule to tell.
std::string schedule_text(const Projection& p) {
  return p.plan.pp > 1 ? projection_columns().text("schedule", p) : std::string(kIdleText);
}

// The plan of each size where each has its own.
std::string best_plans(const ScalingCurve& curve) {
  const Columns<Projection>& columns = projection_columns();
  TextTable plans({{"  GPUs", Align::kRight},
                   {"micro-batch", Align::kRight},
                   {"recompute"},
                   {"schedule"},
                   {"plan"}});
  bool any = false;
  for (const ScaledSize& size : curve.sizes) {
    const Projection& p = size.projection;
    if (size.searched && p.priced) {
      plans.add_row({columns.text("gpus", p), columns.text("micro_batch_size", p),
                     columns.text("recompute", p), schedule_text(p), columns.text("plan", p)});
      any = true;
    }
  }
  return any ? "\nBest plan of each size:\n" + plans.text() : "";
}

std::string reasons_of_sizes(const ScalingCurve& curve) {
  TextTable reasons({{"  GPUs", Align::kRight}, {"reason"}});
  bool any = false;
  for (const ScaledSize& size : curve.sizes) {
    for (const std::string& reason : size.projection.reasons) {
      reasons.add_row({projection_columns().text("gpus", size.projection), reason});
      any = true;
    }
  }
  return any ? "\nThese cannot run:\n" + reasons.text() : "";
}

constexpr std::string_view kPlanColumns = "micro_batch_size recompute schedule plan";

Json size_json(const ScaledSize& size) {
  const Columns<Projection>& columns = projection_columns();
  const Projection& p = size.projection;
  Json json = columns.json("gpus", p);
  if (size.exists) {
    columns.add("nodes global_batch_size", p, json);
  }
  if (p.priced) {
    columns.add(kPlanColumns, p, json);
  }
  columns.add("feasible reasons", p, json);
  add_memory_verdict(p, json);
  columns.add("tokens_per_second_per_gpu step_time_s expected_error peak_memory_bytes", p, json);
  if (size.searched) {
    json["searched"] = searched_columns().json(*size.searched);
  }
  if (!size.parts.empty()) {
    json["loss"] = size.loss;
    json["parts"] = list_of(size.parts, [](const ScalingPart& part) {
      return Json{{"cause", part.cause}, {"share", part.share}};
    });
  }
  return json;
}

// Why nothing runs, as reports of one experiment say it of theirs.
Json all_reasons(const ScalingCurve& curve) {
  Json reasons = Json::array();
  for (const ScaledSize& size : curve.sizes) {
    for (const std::string& reason : size.projection.reasons) {
      reasons.push_back(projection_columns().text("gpus", size.projection) + " GPUs: " + reason);
    }
  }
  return reasons;
}

// The cells of the columns of a size; of one that the experiment does not have only its GPUs.
std::string cells_where(bool there, std::string_view keys, const Projection& p) {
  return there ? projection_columns().csv_cells(keys, p) : Columns<Projection>::no_cells(keys);
}

}  // namespace

std::string to_text(const ScalingCurve& curve) {
  const ScaledSize* first = first_that_runs(curve);
  Projection about = described(curve);
  about.reasons.clear();  // told below, of each size
  std::string text = heading(about) + notes_and_reasons(about);
  text +=
      line("scaling", curve.scaling == Scaling::kWeak ? "weak: the global batch grows with the GPUs"
                                                      : "strong: the global batch stays");
  if (first != nullptr) {
    text += "\n" + table(curve, *first) + "\nlost: of the rate of " +
            projection_columns().text("gpus", first->projection) +
            " GPUs, and what each cause takes of it beside those after it\n";
  }
  return text + best_plans(curve) + reasons_of_sizes(curve);
}

nlohmann::ordered_json to_json(const ScalingCurve& curve) {
  Json json = json_header(described(curve));
  // Each size has its own.
  for (const char* key : {"reasons", "verdict", "probability"}) {
    json.erase(key);
  }
  json["feasible"] = any_feasible(curve);
  if (!any_feasible(curve)) {
    json["reasons"] = all_reasons(curve);
  }
  json["scaling"] = name(curve.scaling);
  json["sizes"] = list_of(curve.sizes, size_json);
  return json;
}

std::string to_csv(const ScalingCurve& curve) {
  constexpr std::string_view kOfSize = "nodes global_batch_size";
  constexpr std::string_view kOfRate =
      "feasible tokens_per_second_per_gpu step_time_s " STEPCAST_INTERVAL_COLUMNS;
  using ProjectionColumns = Columns<Projection>;
  std::string text = "gpus," + ProjectionColumns::csv_titles(kOfSize) + "," +
                     ProjectionColumns::csv_titles(kOfRate) + "," +
                     ProjectionColumns::csv_titles(kPlanColumns) + ",reasons,cause,share\n";
  for (const ScaledSize& size : curve.sizes) {
    const Projection& p = size.projection;
    const std::string cells =
        projection_columns().csv_cells("gpus", p) + "," + cells_where(size.exists, kOfSize, p) +
        "," + projection_columns().csv_cells(kOfRate, p) + "," +
        cells_where(p.priced, kPlanColumns, p) + "," + projection_columns().csv_cells("reasons", p);
    if (size.parts.empty()) {
      text += cells + ",,\n";
    }
    for (const ScalingPart& part : size.parts) {
      text += cells + "," + part.cause + "," + csv_text(part.share) + "\n";
    }
  }
  return text;
}

bool any_feasible(const ScalingCurve& curve) {
  return std::ranges::any_of(curve.sizes,
                             [](const ScaledSize& size) { return size.projection.feasible(); });
}

}  // namespace stepcast
