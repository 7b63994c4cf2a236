// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/trace_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "stepcast/base/sum.hpp"
#include "stepcast/base/text_list.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"
#include "stepcast/report/projection_report.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kTopRows = 10;
constexpr std::size_t kListedRows = 40;   // JSON and CSV have all
constexpr std::size_t kListedBeside = 8;  // of a category
constexpr std::size_t kNameWidth = 23;
constexpr std::size_t kShapeWidth = 30;
constexpr double kLeastListed = 5e-7;  // s: what prints as 0.00 ms is left to JSON
constexpr double kLeastWait = 5e-6;    // s

std::string counted(double value) { return whole_number(value); }
std::string in_milliseconds(Seconds time) { return as_milliseconds(time.value()); }
std::string time_or_nothing(Seconds time) { return time > Seconds{} ? in_milliseconds(time) : ""; }
std::string title_line(std::string_view title) { return "  " + std::string(title) + "\n"; }

// The first `width` characters, ".." at their end where there are more.
std::string cut_to(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
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

std::string calls_text(const ComparedRow& row) {
  if (row.traced_calls == 0.0 && row.our_calls == 0.0) {
    return "";
  }
  return counted(row.traced_calls) + "/" + counted(row.our_calls);
}

// --- what is compared ---------------------------------------------------------------------------

template <typename Row>
Value shape_of(const Row& row) {
  return row.shape ? Value(shape_text(*row.shape)) : Value(nullptr);
}

// What a projection is compared with.
Seconds compared_time(const ComparedRow& row) { return row.busy(); }
Seconds compared_time(const WallTime& part) { return part.measured; }

// Of what both sides have.
template <typename Row>
Value error_of(const Row& row) {
  const Seconds measured = compared_time(row);
  return measured > Seconds{} && row.predicted > Seconds{} ? Value(row.predicted / measured - 1.0)
                                                           : Value(nullptr);
}
template <typename Row>
Value error_text(const Row& row) {
  const Value error = error_of(row);
  return has_value(error) ? as_signed_percent<1>(error) : "";
}

// "24 x 544": blocks and threads of each.
Value launch_of(const ComparedRow& row) {
  return row.launch.threads > 0
             ? Value(std::to_string(row.launch.blocks) + " x " + std::to_string(row.launch.threads))
             : Value(nullptr);
}

constexpr auto kComparedColumns = std::to_array<Column<ComparedRow>>({
    {"category", "category", member<&ComparedRow::category>, as_text, Align::kLeft},
    {"shape", "", shape_of},
    {"operators", "", member<&ComparedRow::ours>},
    {"traced", "", member<&ComparedRow::traced>},
    {"traced_calls", "", member<&ComparedRow::traced_calls>},
    {"projected_calls", "", member<&ComparedRow::our_calls>},
    {"measured_s", "measured", member<&ComparedRow::measured>, as_milliseconds},
    {"waiting_s", "", member<&ComparedRow::waiting>},
    {"slowed_s", "", member<&ComparedRow::slowed>},
    {"protocol", "",
     [](const ComparedRow& row) -> Value {
       return row.protocol ? Value(name(*row.protocol)) : Value(nullptr);
     }},
    {"launch", "", launch_of},
    {"projected_s", "projected", member<&ComparedRow::predicted>, as_milliseconds},
    {"error", "", error_of},
    // For people.
    {"label", "operator", [](const ComparedRow& row) -> Value { return label(row); }, as_text,
     Align::kLeft},
    {"work", "", [](const ComparedRow& row) -> Value { return work_of(row); }, as_text,
     Align::kLeft},
    {"calls", "calls", [](const ComparedRow& row) -> Value { return calls_text(row); }},
    {"difference", "difference", member<&ComparedRow::difference>, as_milliseconds},
    {"busy", "measured", [](const ComparedRow& row) -> Value { return row.busy().value(); },
     as_milliseconds},
    {"of_it_slowed", "of it slowed",
     [](const ComparedRow& row) -> Value { return time_or_nothing(row.slowed); }},
    {"beside_waiting", "waiting",
     [](const ComparedRow& row) -> Value { return time_or_nothing(row.waiting); }},
    {"error_text", "error", error_text},
    // Of CSV.
    {"joined_operators", "",
     [](const ComparedRow& row) -> Value { return text_list(row.ours, " + "); }},
    {"joined_traced", "",
     [](const ComparedRow& row) -> Value { return text_list(row.traced, " + "); }},
});
constexpr Columns<ComparedRow> kCompared{kComparedColumns};
constexpr std::string_view kTableOfRows = "label work calls busy projected_s difference";

constexpr auto kWallColumns = std::to_array<Column<WallTime>>({
    {"name", "", member<&WallTime::name>, as_text, Align::kLeft},
    {"measured_s", "measured", member<&WallTime::measured>, as_milliseconds},
    {"projected_s", "projected", member<&WallTime::predicted>, as_milliseconds},
    {"difference", "difference",
     [](const WallTime& part) -> Value { return (part.predicted - part.measured).value(); },
     as_milliseconds},
    {"error_text", "error", error_text},
});
constexpr Columns<WallTime> kWall{kWallColumns};

constexpr auto kTracedStreamColumns = std::to_array<Column<TracedStream>>({
    {"stream", "", member<&TracedStream::id>},
    {"calls", "", member<&TracedStream::calls>, as_count},
    {"busy_s", "", member<&TracedStream::busy>, as_milliseconds},
    {"mostly", "", member<&TracedStream::mostly>},
});
constexpr Columns<TracedStream> kTracedStreams{kTracedStreamColumns};

constexpr auto kOurStreamColumns = std::to_array<Column<ComparedStream>>({
    {"name", "", member<&ComparedStream::name>},
    {"busy_s", "", member<&ComparedStream::busy>, as_milliseconds},
});
constexpr Columns<ComparedStream> kOurStreams{kOurStreamColumns};

// Null where the trace does not say.
Value rank_of(std::int64_t rank) { return rank < 0 ? Value(nullptr) : Value(rank); }

Value trace_json(const ComparisonInput& input) {
  const MeasuredStep& step = input.measured;
  return {{"file", input.file},
          {"gpu", step.head.device.name},
          {"rank", rank_of(step.head.rank)},
          {"world_size", step.head.world < 1 ? Value(nullptr) : Value(step.head.world)},
          {"devices", step.devices},
          {"step", step.name.empty() ? Value(nullptr) : Value(step.name)},
          {"steps_marked", step.steps},
          {"calls", step.summary.spans},
          {"calls_with_operator", step.with_operator},
          {"calls_in_graphs", step.in_graphs}};
}

// --- text ---------------------------------------------------------------------------------------

std::string trace_line(const ComparisonInput& input) {
  const MeasuredStep& step = input.measured;
  std::string text = input.file;
  if (step.head.rank >= 0) {
    text += ", rank " + std::to_string(step.head.rank);
    text += step.head.world > 0 ? " of " + std::to_string(step.head.world) : "";
  }
  const std::string& gpu = step.head.device.name;
  text += gpu.empty() ? "" : ", " + gpu;
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
  const std::optional<double> error = comparison.error();
  const bool steady = input.state == TraceState::kSteady;
  text +=
      line("step projected", in_milliseconds(input.predicted.step) + " ms  " +
                                 (error ? as_text(as_signed_percent<1>(*error)) : "not compared") +
                                 (steady ? ", steady" : ", the first step after a pause"));
  if (!steady) {
    text += line("steady", in_milliseconds(input.steady) + " ms");
  }
  if (input.projection.plan.pp > 1) {
    text += line("pipeline rank", std::to_string(input.pipeline_rank));
  }
  return text + "\n";
}

std::string rows_table(const std::string_view title, const std::vector<ComparedRow>& rows) {
  std::vector<ComparedRow> listed;
  for (const ComparedRow& row : rows) {
    const bool visible = row.measured.value() + row.predicted.value() >= kLeastListed;
    if (visible && listed.size() < kListedRows) {
      listed.push_back(row);
    }
  }
  if (listed.empty()) {
    return "";
  }
  const std::size_t left = rows.size() - listed.size();
  return title_line(title) + kCompared.table(kTableOfRows, listed).text() +
         (left > 0 ? "  " + std::to_string(left) + " more in JSON and CSV\n" : "") + "\n";
}

// The rows that explain most, over all tables.
std::string top_table(const StepComparison& comparison) {
  std::vector<ComparedRow> rows;
  for (const auto* list : {&comparison.operators, &comparison.only_traced, &comparison.only_ours}) {
    rows.insert(rows.end(), list->begin(), list->end());
  }
  std::ranges::copy_if(comparison.categories, std::back_inserter(rows), [](const ComparedRow& row) {
    return row.category > StepCategory::kSendRecv;
  });
  std::ranges::stable_sort(rows, [](const ComparedRow& a, const ComparedRow& b) {
    return std::abs(a.difference().value()) > std::abs(b.difference().value());
  });
  rows.resize(std::min(rows.size(), kTopRows));
  return title_line("Where the difference is, ms") + kCompared.table(kTableOfRows, rows).text() +
         "\n";
}

std::string wall_table(const StepComparison& comparison) {
  return title_line("Wall time, ms") +
         kWall.table("name measured_s projected_s difference error_text", comparison.wall).text() +
         "\n";
}

std::string category_table(const StepComparison& comparison) {
  return title_line("Device time by category, ms") +
         kCompared
             .table("category busy of_it_slowed projected_s difference error_text beside_waiting",
                    comparison.categories)
             .text() +
         "\n";
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
      cells = kTracedStreams.cells("stream calls busy_s mostly", streams[i]);
    }
    if (i < ours.size()) {
      cells.push_back(kOurStreams.text("busy_s", ours[i]));
      cells.push_back(kOurStreams.text("name", ours[i]));
    }
    table.add_row(std::move(cells));
  }
  return title_line("Streams, ms") + table.text() + "\n";
}

// A paragraph.
std::string note_text(const std::string& note) {
  constexpr std::size_t kWidth = 96;
  std::vector<std::string> words;
  for (std::size_t at = 0; at < note.size(); at += words.back().size() + 1) {
    words.push_back(note.substr(at, std::min(note.find(' ', at), note.size()) - at));
  }
  return filled("  note: ", words, kWidth);
}

// --- what several ranks show together -----------------------------------------------------------

std::string rank_name(const RankTotals& rank) {
  return rank.rank >= 0 ? std::to_string(rank.rank) : cut_to(rank.file, 20);
}

constexpr auto kRankColumns = std::to_array<Column<RankTotals>>({
    {"file", "", member<&RankTotals::file>},
    {"rank", "", [](const RankTotals& rank) { return rank_of(rank.rank); }},
    {"step_s", "step", member<&RankTotals::step>, as_milliseconds},
    {"computation_s", "computing", member<&RankTotals::computation>, as_milliseconds},
    {"communication_s", "communicating", member<&RankTotals::communication>, as_milliseconds},
    {"waiting_s", "waiting", member<&RankTotals::waiting>, as_milliseconds},
    {"exposed_s", "", member<&RankTotals::exposed>},
    {"idle_s", "idle", member<&RankTotals::idle>, as_milliseconds},
    {"last", "arrived last", member<&RankTotals::last>, as_count},
    {"waited_for_s", "others waited", member<&RankTotals::waited_for>, as_milliseconds},
    {"waits_for_s", "", member<&RankTotals::waits_for>},
    {"name", "rank", [](const RankTotals& rank) -> Value { return rank_name(rank); }, as_text,
     Align::kLeft},
});
constexpr Columns<RankTotals> kRanks{kRankColumns};

template <typename Row>
std::string collective_text(const Row& row) {
  return std::string(name(row.category)) + (row.shape ? " " + shape_text(*row.shape) : "");
}

constexpr auto kCollectiveColumns = std::to_array<Column<WaitedCollective>>({
    {"category", "", member<&WaitedCollective::category>},
    {"shape", "", shape_of},
    {"calls", "calls", member<&WaitedCollective::calls>, as_count},
    {"transfer_s", "transfer", member<&WaitedCollective::transfer>, as_milliseconds},
    {"waiting_s", "", member<&WaitedCollective::waiting>},
    {"last", "", member<&WaitedCollective::last>},
});
constexpr Columns<WaitedCollective> kCollectives{kCollectiveColumns};

constexpr auto kWaitedCallColumns = std::to_array<Column<WaitedCall>>({
    {"start_s", "at", member<&WaitedCall::start>, as_milliseconds},
    {"category", "", member<&WaitedCall::category>},
    {"shape", "", shape_of},
    {"transfer_s", "transfer", member<&WaitedCall::transfer>, as_milliseconds},
    {"waiting_s", "waiting", member<&WaitedCall::waiting>, as_milliseconds},
    {"last", "", member<&WaitedCall::last>},
});
constexpr Columns<WaitedCall> kWaitedCalls{kWaitedCallColumns};

std::string rank_table(const RankWaiting& waiting) {
  return title_line("Ranks, ms") +
         kRanks
             .table("name step_s computation_s communication_s waiting_s idle_s last waited_for_s",
                    waiting.ranks)
             .text() +
         "\n";
}

// Each pair of ranks, most waiting first.
std::string waits_table(const RankWaiting& waiting) {
  struct Pair {
    std::size_t waits = 0;
    std::size_t last = 0;
    Seconds time;
  };
  std::vector<Pair> pairs;
  for (std::size_t rank = 0; rank < waiting.ranks.size(); ++rank) {
    const std::vector<Seconds>& waits_for = waiting.ranks[rank].waits_for;
    for (std::size_t last = 0; last < waits_for.size(); ++last) {
      if (waits_for[last].value() >= kLeastWait) {
        pairs.push_back({rank, last, waits_for[last]});
      }
    }
  }
  if (pairs.empty()) {
    return "";
  }
  std::ranges::stable_sort(pairs, std::ranges::greater{}, &Pair::time);
  pairs.resize(std::min(pairs.size(), kTopRows));
  TextTable table({{"rank"}, {"waits for"}, {"waiting", Align::kRight}});
  for (const Pair& pair : pairs) {
    table.add_row({rank_name(waiting.ranks[pair.waits]), rank_name(waiting.ranks[pair.last]),
                   in_milliseconds(pair.time)});
  }
  return title_line("Who waits for whom, ms") + table.text() + "\n";
}

std::string collective_table(const RankWaiting& waiting) {
  TextTable table({{"collective"},
                   {"calls", Align::kRight},
                   {"transfer", Align::kRight},
                   {"waiting", Align::kRight},
                   {"most for rank"},
                   {"its calls", Align::kRight}});
  for (const WaitedCollective& row : waiting.collectives) {
    const Seconds sum = sum_over(row.waiting, std::identity());
    const auto last =
        static_cast<std::size_t>(std::ranges::max_element(row.last) - row.last.begin());
    table.add_row({collective_text(row), kCollectives.text("calls", row),
                   kCollectives.text("transfer_s", row), in_milliseconds(sum),
                   rank_name(waiting.ranks[last]), counted(static_cast<double>(row.last[last]))});
  }
  return title_line("Collectives over all ranks, ms") + table.text() + "\n";
}

// The calls that ranks waited at for longest.
std::string waited_calls_table(const RankWaiting& waiting) {
  std::vector<WaitedCall> calls = waiting.calls;
  std::ranges::stable_sort(calls, std::ranges::greater{}, &WaitedCall::waiting);
  calls.resize(std::min(calls.size(), kTopRows));
  TextTable table({{"at", Align::kRight},
                   {"collective"},
                   {"transfer", Align::kRight},
                   {"waiting", Align::kRight},
                   {"last to arrive"}});
  for (const WaitedCall& call : calls) {
    table.add_row({kWaitedCalls.text("start_s", call), collective_text(call),
                   kWaitedCalls.text("transfer_s", call), kWaitedCalls.text("waiting_s", call),
                   rank_name(waiting.ranks[call.last])});
  }
  return title_line("Longest waits of the step, ms") + table.text() + "\n";
}

std::string rank_tables(const RankWaiting& waiting) {
  return rank_table(waiting) + waits_table(waiting) + collective_table(waiting) +
         waited_calls_table(waiting);
}

constexpr std::string_view kRankMembers =
    "file rank step_s computation_s communication_s waiting_s exposed_s idle_s last waited_for_s "
    "waits_for_s";
constexpr std::string_view kRowMembers =
    "category shape operators traced traced_calls projected_calls measured_s waiting_s slowed_s "
    "projected_s error launch protocol";

}  // namespace

std::string to_text(const StepComparison& comparison) {
  const ComparisonInput& input = comparison.input;
  std::string text = trace_line(input);
  for (const std::string& doubt : input.doubts) {
    text += note_text(doubt);
  }
  text += heading(input.projection) + headline(comparison);
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

nlohmann::ordered_json to_json(const StepComparison& comparison) {
  const ComparisonInput& input = comparison.input;
  const auto rows = [](const std::vector<ComparedRow>& list) {
    return kCompared.json_rows(kRowMembers, list);
  };
  Value json = json_header(input.projection);
  json["trace"] = trace_json(input);
  json["state"] = name(input.state);
  json["pipeline_rank"] = input.pipeline_rank;
  const std::optional<double> error = comparison.error();
  json["step"] = {{"measured_s", input.measured.summary.step.value()},
                  {"projected_s", input.predicted.step.value()},
                  {"error", error ? Value(*error) : Value(nullptr)},
                  {"steady_s", input.steady.value()}};
  json["time"] = kWall.json_rows("name measured_s projected_s", comparison.wall);
  json["categories"] = kCompared.json_rows(
      "category measured_s waiting_s slowed_s projected_s error", comparison.categories);
  json["operators"] = rows(comparison.operators);
  json["only_in_trace"] = rows(comparison.only_traced);
  json["only_in_projection"] = rows(comparison.only_ours);
  json["without_shape"] = rows(comparison.without_shape);
  json["matched_share"] = comparison.matched_share;
  json["streams"] = {{"measured", kTracedStreams.json_rows(input.measured.streams)},
                     {"projected", kOurStreams.json_rows(comparison.our_streams)}};
  if (input.ranks) {
    json["ranks"] = {{"ranks", kRanks.json_rows(kRankMembers, input.ranks->ranks)},
                     {"collectives", kCollectives.json_rows(input.ranks->collectives)},
                     {"calls", kWaitedCalls.json_rows(input.ranks->calls)},
                     {"alone", input.ranks->alone}};
  }
  json["doubts"] = input.doubts;
  json["notes"] = input.notes;
  return json;
}

std::string to_csv(const StepComparison& comparison) {
  constexpr std::string_view kCells =
      "category shape joined_operators:operators joined_traced:traced traced_calls projected_calls "
      "measured_s waiting_s projected_s";
  std::string text = "section," + Columns<ComparedRow>::csv_titles(kCells) + "\n";
  for (const WallTime& part : comparison.wall) {
    text += "time," + kWall.csv_cells("name", part) + ",,,,,," +
            kWall.csv_cells("measured_s", part) + ",," + kWall.csv_cells("projected_s", part) +
            "\n";
  }
  const auto add = [&](const char* section, const std::vector<ComparedRow>& rows) {
    for (const ComparedRow& row : rows) {
      text += std::string(section) + "," + kCompared.csv_cells(kCells, row) + "\n";
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
