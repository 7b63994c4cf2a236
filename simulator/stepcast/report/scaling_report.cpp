// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/scaling_report.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "stepcast/base/sum.hpp"
#include "stepcast/report/projection_columns.hpp"
#include "stepcast/report/projection_report.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kOwnColumn = 0.0005;  // of the rate of the smallest size

const ScaledSize* first_priced(const ScalingCurve& curve) {
  const auto first = std::ranges::find_if(
      curve.sizes, [](const ScaledSize& size) { return size.projection.priced; });
  return first == curve.sizes.end() ? nullptr : &*first;
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
    std::vector<std::string> cells = columns.cells(kCells, size.projection);
    if (size.projection.priced) {
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

// The plan of each size where they differ, and why a size cannot run.
std::string plans_and_reasons(const ScalingCurve& curve) {
  TextTable plans({{"  GPUs", Align::kRight}, {"plan"}});
  TextTable reasons({{"  GPUs", Align::kRight}, {"reason"}});
  bool searched = false;
  bool refused = false;
  for (const ScaledSize& size : curve.sizes) {
    const std::string gpus = projection_columns().text("gpus", size.projection);
    if (size.searched && size.projection.priced) {
      plans.add_row({gpus, projection_columns().text("plan", size.projection)});
      searched = true;
    }
    for (const std::string& reason : size.projection.reasons) {
      reasons.add_row({gpus, reason});
      refused = true;
    }
  }
  return (searched ? "\nBest plan of each size:\n" + plans.text() : "") +
         (refused ? "\nThese cannot run:\n" + reasons.text() : "");
}

Json size_json(const ScaledSize& size) {
  Json json = projection_columns().json(
      "gpus nodes global_batch_size plan feasible reasons tokens_per_second_per_gpu step_time_s "
      "expected_error peak_memory_bytes",
      size.projection);
  if (size.searched) {
    json["searched"] = searched_columns().json(*size.searched);
  }
  if (size.projection.priced) {
    json["loss"] = size.loss;
    json["parts"] = list_of(size.parts, [](const ScalingPart& part) {
      return Json{{"cause", part.cause}, {"share", part.share}};
    });
  }
  return json;
}

}  // namespace

std::string to_text(const ScalingCurve& curve) {
  const ScaledSize* first = first_priced(curve);
  Projection about = (first == nullptr ? curve.sizes.front() : *first).projection;
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
  return text + plans_and_reasons(curve);
}

nlohmann::ordered_json to_json(const ScalingCurve& curve) {
  const ScaledSize* first = first_priced(curve);
  Json json = json_header((first == nullptr ? curve.sizes.front() : *first).projection);
  json["feasible"] = any_feasible(curve);
  json.erase("reasons");
  json["scaling"] = name(curve.scaling);
  json["sizes"] = list_of(curve.sizes, size_json);
  return json;
}

std::string to_csv(const ScalingCurve& curve) {
  constexpr std::string_view kCells =
      "gpus nodes global_batch_size feasible tokens_per_second_per_gpu "
      "step_time_s " STEPCAST_INTERVAL_COLUMNS;
  std::string text = Columns<Projection>::csv_titles(kCells) + ",cause,share\n";
  for (const ScaledSize& size : curve.sizes) {
    const std::string cells = projection_columns().csv_cells(kCells, size.projection);
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
