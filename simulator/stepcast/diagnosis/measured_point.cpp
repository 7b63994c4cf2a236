// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/measured_point.hpp"

#include <algorithm>

#include "stepcast/base/each_of.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/diagnosis/measured_figure.hpp"

namespace stepcast {
namespace {

// The parts between commas that stand in no bracket.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '{' || letter == '[' ? 1 : letter == '}' || letter == ']' ? -1 : 0;
    if (letter == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

std::optional<std::pair<std::string, std::string>> setting_of(const std::string& part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
    return std::nullopt;
  }
  return std::pair(part.substr(0, equals), part.substr(equals + 1));
}

const std::pair<std::string_view, Metric>* figure_option(std::string_view name) {
  const auto* const found =
      std::ranges::find(kFigureOptions, name, &decltype(kFigureOptions)::value_type::first);
  return found == kFigureOptions.end() ? nullptr : &*found;
}

}  // namespace

MeasuredPoint parse_point(std::string_view text) {
  const Location where{"point " + std::string(text), 0, 0};
  const std::size_t colon = text.rfind(':');
  const std::optional<Figure> figure =
      colon == std::string_view::npos ? std::nullopt : parse_figure(text.substr(colon + 1));
  if (!figure) {
    throw ConfigError(where,
                      "write settings, a colon and a figure, e.g. plan.tp=2:1.93s, with the "
                      "figure in s, tok/s, TFLOP/s, % or GiB");
  }
  MeasuredPoint point{{}, *figure};
  for (const std::string& part : parts_of(text.substr(0, colon))) {
    std::optional<std::pair<std::string, std::string>> setting = setting_of(part);
    if (!setting) {
      throw ConfigError(where, "'" + part + "' is no setting; write KEY=VALUE, e.g. plan.tp=2");
    }
    point.settings.push_back(std::move(*setting));
  }
  return point;
}

std::vector<MeasuredPoint> points_of(const PointsRow& row, Diagnostics& diagnostics) {
  KeySettings settings;
  std::vector<Figure> figures;
  for (const auto& [name, cell] : row.cells) {
    const auto* const option = figure_option(name);
    if (option == nullptr && name.find('.') == std::string::npos) {
      diagnostics.error(row.where, "the column '" + name +
                                       "' is neither a key of an experiment, as plan.tp, "
                                       "nor one of " +
                                       text_list(kFigureOptions, ", ", [](const auto& known) {
                                         return std::string(known.first);
                                       }));
    } else if (option == nullptr) {
      settings.emplace_back(name, cell);
    } else if (const std::optional<Figure> figure = parse_figure(cell, option->second)) {
      figures.push_back(*figure);
    } else {
      diagnostics.error(row.where, "'" + cell + "' under '" + name +
                                       "' is no such figure; write "
                                       "e.g. " +
                                       std::string(figure_example(option->second)));
    }
  }
  if (figures.empty()) {
    diagnostics.error(row.where,
                      "nothing is measured in this row; fill in a step, measured, "
                      "tflops, mfu or memory");
  }
  return each_of(figures, [&](const Figure& figure) { return MeasuredPoint{settings, figure}; });
}

}  // namespace stepcast
