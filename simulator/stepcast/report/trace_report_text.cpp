// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"
#include "stepcast/report/trace_cells.hpp"
#include "stepcast/report/trace_report.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kListedRows = 40;   // JSON and CSV have all
constexpr std::size_t kListedBeside = 8;  // of a category
constexpr std::size_t kNameWidth = 23;
constexpr std::size_t kShapeWidth = 30;
constexpr double kLeastListed = 5e-7;  // s: what prints as 0.00 ms is left to JSON

std::string signed_percent(double share) {
  const std::string digits = decimals(std::abs(100.0 * share), 1);
  return (share < 0.0 ? "-" : "+") + digits + " %";
}

std::string error_of(Seconds measured, Seconds predicted) {
  return measured > Seconds{} && predicted > Seconds{} ? signed_percent(predicted / measured - 1.0)
                                                       : "";
}

// As many names as fit.
std::string names_within(const std::vector<std::string>& names, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string more = (text.empty() ? "" : ", ") + names[i];
    if (!text.empty() && text.size() + more.size() > width) {
      return text + " +" + std::to_string(names.size() - i);
    }
    text += more;
  }
  return cut_to(text, width);
}

std::string label(const ComparedRow& row) {
  if (row.ours.empty() && row.traced.empty()) {
    return std::string(name(row.category));
  }
  return names_within(row.ours.empty() ? row.traced : row.ours, kNameWidth);
}

std::string work_of(const ComparedRow& row) {
  const bool is_sum = row.ours.empty() && row.traced.empty();
  if (!row.shape) {
    return is_sum ? "" : std::string(name(row.category));
  }
  const bool communicates = is_communication(row.category);
  return cut_to(
      (communicates ? std::string(name(row.category)) + " " : "") + shape_text(*row.shape),
      kShapeWidth);
}

std::string trace_line(const ComparisonInput& input) {
  const MeasuredStep& step = input.measured;
  std::string text = input.file;
  if (step.head.rank >= 0) {
    text += ", rank " + std::to_string(step.head.rank);
    text += step.head.world > 0 ? " of " + std::to_string(step.head.world) : "";
  }
  text += step.head.gpu.empty() ? "" : ", " + step.head.gpu;
  return cut_to(text, 96) + "\n";
}

std::string step_line(const MeasuredStep& step) {
  std::string text = counted(static_cast<double>(step.summary.spans)) + " calls on the device, " +
                     counted(static_cast<double>(step.with_operator)) + " of a known operator";
  if (step.in_graphs > 0) {
    text += ", " + counted(static_cast<double>(step.in_graphs)) + " of captured graphs";
  }
  return text;
}

std::string chosen_text(const MeasuredStep& step) {
  if (step.name.empty()) {
    return "the whole trace";
  }
  return step.name + (step.steps > 1 ? " of " + std::to_string(step.steps) + " in the trace" : "");
}

std::string headline(const StepComparison& comparison) {
  const ComparisonInput& input = comparison.input;
  std::string text = line("step of the trace", chosen_text(input.measured)) +
                     line("", step_line(input.measured)) +
                     line("step measured", in_milliseconds(input.measured.summary.step) + " ms");
  if (!input.predicted.priced) {
    return text + "\n";
  }
  const bool steady = input.state == TraceState::kSteady;
  text += line("step projected", in_milliseconds(input.predicted.step) + " ms  " +
                                     error_of(input.measured.summary.step, input.predicted.step) +
                                     (steady ? ", steady" : ", the first step after a pause"));
  if (!steady) {
    text += line("steady", in_milliseconds(input.steady) + " ms");
  }
  if (input.projection.plan.pp > 1) {
    text += line("pipeline rank", std::to_string(input.pipeline_rank));
  }
  return text + "\n";
}

TextTable table_of_rows() {
  return TextTable({{"operator"},
                    {""},
                    {"calls", Align::kRight},
                    {"measured", Align::kRight},
                    {"projected", Align::kRight},
                    {"difference", Align::kRight}});
}

std::string calls_text(const ComparedRow& row) {
  if (row.traced_calls == 0.0 && row.our_calls == 0.0) {
    return "";
  }
  return counted(row.traced_calls) + "/" + counted(row.our_calls);
}

void add_row(const ComparedRow& row, TextTable& table) {
  table.add_row({label(row), work_of(row), calls_text(row), in_milliseconds(row.measured),
                 in_milliseconds(row.predicted), in_milliseconds(row.difference())});
}

std::string rows_table(const std::string_view title, const std::vector<ComparedRow>& rows) {
  TextTable table = table_of_rows();
  std::size_t listed = 0;
  for (const ComparedRow& row : rows) {
    const bool visible = row.measured.value() + row.predicted.value() >= kLeastListed;
    if (visible && listed < kListedRows) {
      add_row(row, table);
      ++listed;
    }
  }
  if (listed == 0) {
    return "";
  }
  const std::size_t left = rows.size() - listed;
  return title_line(title) + table.text() +
         (left > 0 ? "  " + std::to_string(left) + " more in JSON and CSV\n" : "") + "\n";
}

// The rows that explain most, over all tables.
std::string top_table(const StepComparison& comparison) {
  std::vector<ComparedRow> rows;
  for (const auto* list : {&comparison.operators, &comparison.only_traced, &comparison.only_ours}) {
    rows.insert(rows.end(), list->begin(), list->end());
  }
  for (const ComparedRow& row : comparison.categories) {
    if (row.category > StepCategory::kSendRecv) {
      rows.push_back(row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow& a, const ComparedRow& b) {
    return std::abs(a.difference().value()) > std::abs(b.difference().value());
  });
  rows.resize(std::min(rows.size(), kTopRows));
  TextTable table = table_of_rows();
  for (const ComparedRow& row : rows) {
    add_row(row, table);
  }
  return title_line("Where the difference is, ms") + table.text() + "\n";
}

std::string wall_table(const StepComparison& comparison) {
  TextTable table({{""},
                   {"measured", Align::kRight},
                   {"projected", Align::kRight},
                   {"difference", Align::kRight},
                   {"error", Align::kRight}});
  for (const WallTime& part : comparison.wall) {
    table.add_row({std::string(part.name), in_milliseconds(part.measured),
                   in_milliseconds(part.predicted), in_milliseconds(part.predicted - part.measured),
                   error_of(part.measured, part.predicted)});
  }
  return title_line("Wall time, ms") + table.text() + "\n";
}

std::string category_table(const StepComparison& comparison) {
  TextTable table({{"category"},
                   {"measured", Align::kRight},
                   {"of it waiting", Align::kRight},
                   {"projected", Align::kRight},
                   {"difference", Align::kRight},
                   {"error", Align::kRight}});
  for (const ComparedRow& row : comparison.categories) {
    table.add_row({std::string(name(row.category)), in_milliseconds(row.measured),
                   row.waiting > Seconds{} ? in_milliseconds(row.waiting) : "",
                   in_milliseconds(row.predicted), in_milliseconds(row.difference()),
                   error_of(row.measured, row.predicted)});
  }
  return title_line("Device time by category, ms") + table.text() + "\n";
}

// What memory bounds, of both sides beside each other, most time first in each category.
std::string without_shape_table(const StepComparison& comparison) {
  constexpr std::size_t kOurNameWidth = 21;
  TextTable table({{"category"},
                   {"in the trace"},
                   {"calls", Align::kRight},
                   {"measured", Align::kRight},
                   {"in the projection"},
                   {"calls", Align::kRight},
                   {"projected", Align::kRight}});
  for (const ComparedRow& category : comparison.categories) {
    std::vector<std::vector<std::string>> rows;
    std::size_t traced = 0;
    std::size_t ours = 0;
    for (const ComparedRow& row : comparison.without_shape) {
      const bool is_traced = row.ours.empty();
      if (row.category != category.category || (is_traced ? traced : ours) >= kListedBeside) {
        continue;
      }
      std::size_t& at = is_traced ? traced : ours;
      rows.resize(std::max(rows.size(), at + 1), std::vector<std::string>(7));
      std::vector<std::string>& cells = rows[at++];
      const std::size_t first = is_traced ? 1 : 4;
      cells[first] =
          names_within(is_traced ? row.traced : row.ours, is_traced ? kNameWidth : kOurNameWidth);
      cells[first + 1] = counted(is_traced ? row.traced_calls : row.our_calls);
      cells[first + 2] = in_milliseconds(row.measured + row.predicted);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i][0] = i == 0 ? std::string(name(category.category)) : "";
      table.add_row(std::move(rows[i]));
    }
  }
  return title_line("By category alone, ms") + table.text() + "\n";
}

std::string stream_table(const StepComparison& comparison) {
  TextTable table({{"stream"},
                   {"calls", Align::kRight},
                   {"measured", Align::kRight},
                   {"mostly"},
                   {"projected", Align::kRight},
                   {"stream"}});
  const std::vector<TracedStream>& streams = comparison.input.measured.streams;
  const std::vector<ComparedStream>& ours = comparison.our_streams;
  for (std::size_t i = 0; i < std::max(streams.size(), ours.size()); ++i) {
    std::vector<std::string> cells(4);
    if (i < streams.size()) {
      cells = {std::to_string(streams[i].id), counted(static_cast<double>(streams[i].calls)),
               in_milliseconds(streams[i].busy), std::string(name(streams[i].mostly))};
    }
    if (i < ours.size()) {
      cells.push_back(in_milliseconds(ours[i].busy));
      cells.emplace_back(ours[i].name);
    }
    table.add_row(std::move(cells));
  }
  return title_line("Streams, ms") + table.text() + "\n";
}

// A paragraph in lines of at most 96 columns.
std::string note_text(const std::string& note) {
  std::string text;
  std::string current = "  note:";
  for (std::size_t at = 0; at < note.size();) {
    const std::size_t end = std::min(note.find(' ', at), note.size());
    const std::string word = note.substr(at, end - at);
    if (current.size() + 1 + word.size() > 96) {
      text += current + "\n";
      current = "       ";
    }
    current += " " + word;
    at = end + 1;
  }
  return text + current + "\n";
}

}  // namespace

std::string to_text(const StepComparison& comparison) {
  const ComparisonInput& input = comparison.input;
  std::string text = trace_line(input) + heading(input.projection) + headline(comparison);
  if (input.predicted.priced) {
    text += top_table(comparison);
  }
  text += wall_table(comparison) + category_table(comparison) +
          rows_table("Operators on both sides, ms", comparison.operators) +
          rows_table("Only in the trace, ms", comparison.only_traced) +
          rows_table("Only in the projection, ms", comparison.only_ours) +
          without_shape_table(comparison) + stream_table(comparison);
  if (input.ranks) {
    text += rank_tables(*input.ranks);
  }
  for (const std::string& note : input.notes) {
    text += note_text(note);
  }
  return text + notes_and_reasons(input.projection);
}

}  // namespace stepcast
