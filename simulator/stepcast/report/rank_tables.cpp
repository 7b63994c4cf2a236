// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stepcast/base/units_text.hpp"
#include "stepcast/report/text_layout.hpp"
#include "stepcast/report/text_report.hpp"
#include "stepcast/report/trace_cells.hpp"

namespace stepcast {
namespace {

constexpr double kLeastWait = 5e-6;  // s: what prints as 0.00 ms

std::string rank_name(const RankTotals& rank) {
  return rank.rank >= 0 ? std::to_string(rank.rank) : cut_to(rank.file, 20);
}

std::string rank_table(const RankWaiting& waiting) {
  TextTable table({{"rank"},
                   {"step", Align::kRight},
                   {"computing", Align::kRight},
                   {"communicating", Align::kRight},
                   {"waiting", Align::kRight},
                   {"idle", Align::kRight},
                   {"arrived last", Align::kRight},
                   {"others waited", Align::kRight}});
  for (const RankTotals& rank : waiting.ranks) {
    table.add_row({rank_name(rank), in_milliseconds(rank.step), in_milliseconds(rank.computation),
                   in_milliseconds(rank.communication), in_milliseconds(rank.waiting),
                   in_milliseconds(rank.idle), counted(static_cast<double>(rank.last)),
                   in_milliseconds(rank.waited_for)});
  }
  return title_line("Ranks, ms") + table.text() + "\n";
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
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.time > b.time; });
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
    Seconds sum;
    for (const Seconds time : row.waiting) {
      sum += time;
    }
    const auto last = static_cast<std::size_t>(std::max_element(row.last.begin(), row.last.end()) -
                                               row.last.begin());
    table.add_row(
        {std::string(name(row.category)) + (row.shape ? " " + shape_text(*row.shape) : ""),
         counted(static_cast<double>(row.calls)), in_milliseconds(row.transfer),
         in_milliseconds(sum), rank_name(waiting.ranks[last]),
         counted(static_cast<double>(row.last[last]))});
  }
  return title_line("Collectives over all ranks, ms") + table.text() + "\n";
}

// The calls that ranks waited at for longest.
std::string waited_calls_table(const RankWaiting& waiting) {
  std::vector<WaitedCall> calls = waiting.calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const WaitedCall& a, const WaitedCall& b) { return a.waiting > b.waiting; });
  calls.resize(std::min(calls.size(), kTopRows));
  TextTable table({{"at", Align::kRight},
                   {"collective"},
                   {"transfer", Align::kRight},
                   {"waiting", Align::kRight},
                   {"last to arrive"}});
  for (const WaitedCall& call : calls) {
    table.add_row(
        {in_milliseconds(call.start),
         std::string(name(call.category)) + (call.shape ? " " + shape_text(*call.shape) : ""),
         in_milliseconds(call.transfer), in_milliseconds(call.waiting),
         rank_name(waiting.ranks[call.last])});
  }
  return title_line("Longest waits of the step, ms") + table.text() + "\n";
}

}  // namespace

std::string rank_tables(const RankWaiting& waiting) {
  return rank_table(waiting) + waits_table(waiting) + collective_table(waiting) +
         waited_calls_table(waiting);
}

}  // namespace stepcast
