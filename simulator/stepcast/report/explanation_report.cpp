// SPDX-License-Identifier: Apache-2.0
#include "stepcast/report/explanation_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/sum.hpp"
#include "stepcast/base/units_text.hpp"
#include "stepcast/report/columns.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Seconds total(const std::vector<LimitedTime>& limits) {
  return sum_over(limits, &LimitedTime::time);
}

// Runs of a path that stand for one line: `period` of them, `times` times in a row.
struct Repetition {
  std::size_t period = 1;
  std::size_t times = 1;
};

bool alike(const PathSegment& a, const PathSegment& b) {
  return a.rank == b.rank && a.kind == b.kind && a.count == b.count;
}

// How often the `period` runs from `at` on follow each other.
std::size_t repetitions(const std::vector<PathSegment>& path, std::size_t at, std::size_t period) {
  std::size_t end = at + period;
  while (end < path.size() && alike(path[end], path[end - period])) {
    ++end;
  }
  return (end - at) / period;
}

// The repetition from `at` on that takes most runs together; the shorter period of equals.
Repetition longest_repetition(const std::vector<PathSegment>& path, std::size_t at) {
  constexpr std::size_t kLongest = 8;  // forward, transfer and backward over some ranks
  Repetition best;
  for (std::size_t period = 1; period <= kLongest && at + period <= path.size(); ++period) {
    const std::size_t times = repetitions(path, at, period);
    if (times > 1 && times * period > best.times * best.period) {
      best = {period, times};
    }
  }
  return best;
}

std::string segment_text(const PathSegment& segment) {
  const std::string times = segment.count > 1 ? std::to_string(segment.count) + " x " : "";
  return times + std::string(name(segment.kind));
}

// "rank 3: forward, backward; rank 2: transfer"
std::string runs_text(const std::vector<PathSegment>& path, std::size_t at, std::size_t period) {
  std::string text;
  for (std::size_t i = at; i < at + period; ++i) {
    const bool same = i > at && path[i].rank == path[i - 1].rank;
    text += i == at ? "" : same ? ", " : "; ";
    text += (same ? "" : "rank " + std::to_string(path[i].rank) + ": ") + segment_text(path[i]);
  }
  return text;
}

// Consecutive runs on one rank that do not repeat, as one line.
std::size_t same_rank(const std::vector<PathSegment>& path, std::size_t at) {
  std::size_t end = at + 1;
  while (end < path.size() && path[end].rank == path[at].rank &&
         longest_repetition(path, end).times == 1) {
    ++end;
  }
  return end - at;
}

// A line of the table of a path; `first_rank` to `last_rank` did the same one after the other.
struct PathLine {
  std::int64_t first_rank = -1;  // below 0: runs of several ranks, which `text` names
  std::int64_t last_rank = -1;
  std::size_t times = 1;
  Seconds time;
  std::string text;
};

std::vector<PathLine> path_lines(const std::vector<PathSegment>& path) {
  std::vector<PathLine> lines;
  for (std::size_t at = 0; at < path.size();) {
    Repetition runs = longest_repetition(path, at);
    if (runs.times == 1) {
      runs.period = same_rank(path, at);
    }
    const std::size_t end = at + runs.period * runs.times;
    PathLine& entry = lines.emplace_back();
    entry.times = runs.times;
    entry.text = runs_text(path, at, runs.period);
    bool same = true;
    for (; at < end; ++at) {
      entry.time += path[at].time;
      same = same && path[at].rank == path[end - 1].rank;
    }
    if (same) {
      entry.first_rank = entry.last_rank = path[end - 1].rank;
      entry.text.erase(0, entry.text.find(": ") + 2);
    }
  }
  return lines;
}

// The lines of which none is absorbed by the one before it.
template <typename Absorb>
std::vector<PathLine> merged(const std::vector<PathLine>& lines, const Absorb& absorbs) {
  std::vector<PathLine> result;
  for (const PathLine& next : lines) {
    if (result.empty() || next.first_rank < 0 || !absorbs(result.back(), next)) {
      result.push_back(next);
    } else {
      result.back().time += next.time;
    }
  }
  return result;
}

// Neighbouring ranks that do the same one after the other, up or down, are one line.
bool absorbs_rank(PathLine& last, const PathLine& next) {
  const std::int64_t step = next.first_rank - last.last_rank;
  const std::int64_t so_far = last.last_rank - last.first_rank;
  const bool alike = last.first_rank >= 0 && last.times == next.times && last.text == next.text;
  if (!alike || !((step == 1 && so_far >= 0) || (step == -1 && so_far <= 0))) {
    return false;
  }
  last.last_rank = next.last_rank;
  return true;
}

// Lines that follow each other unchanged are one that happens several times.
bool absorbs_repeat(PathLine& last, const PathLine& next) {
  if (next.times != 1 || last.first_rank != next.first_rank || last.last_rank != next.last_rank ||
      last.text != next.text) {
    return false;
  }
  ++last.times;
  return true;
}

std::string ranks_text(const PathLine& entry) {
  if (entry.first_rank < 0) {
    return "";
  }
  const std::string first = std::to_string(entry.first_rank);
  return entry.first_rank == entry.last_rank
             ? "rank " + first + ": "
             : "ranks " + first + " to " + std::to_string(entry.last_rank) + ", each: ";
}

std::string signed_percent(double value) {
  // Two digits after the point, -0.00 as 0.00.
  const auto hundredths = std::llround(100.0 * value);
  return (hundredths < 0 ? "-" : "+") +
         decimals(std::abs(static_cast<double>(hundredths)) / 100.0, 2) + " %";
}

std::string resource_text(const Sensitivity& s) {
  std::string text(s.resource);
  std::ranges::replace(text, '_', ' ');
  if (s.to_clock > Hertz{}) {
    text += ", locked: from " + decimals(s.from_clock.value() / 1e6, 1) + " to " +
            decimals(s.to_clock.value() / 1e6, 1) + " MHz";
  }
  return text + (s.of_time ? " (longer)" : "");
}

// "plan.tp 4 and plan.zero 3, not resharded"
std::string moves_text(const AdvisedChange& change) {
  std::string text;
  for (const auto& [key, value] : change.moves) {
    text += (text.empty() ? "" : " and ") + key + " " + value;
  }
  return text;
}

// The kinds of kernels of a row, beneath it.
void add_parts(const WaterfallStep& row, Seconds step, TextTable& table) {
  constexpr double kWorthSaying = 0.005;
  for (const KindTime& part : row.parts) {
    const double share = part.time / step;
    if (share >= kWorthSaying) {
      std::string kind(part.kind);
      std::ranges::replace(kind, '_', ' ');
      table.add_row(
          {"    " + kind, readable(part.time), decimals(100.0 * share, 1) + " %", "", ""});
    }
  }
}

// Whether the MFU counts work that no kernel does, so that its first row lifts it.
bool counts_cut_pairs(const Explanation& e) { return e.waterfall.front().factor > 1.0; }
constexpr std::string_view kCutPairs =
    "  the mask lifts the MFU, which counts pairs of attention that it cuts and no kernel "
    "computes\n";

}  // namespace

std::string waterfall_to_text(const Explanation& e) {
  if (e.waterfall.empty()) {
    return "";
  }
  const Projection& p = e.projection;
  TextTable table({{"  cause"},
                   {"time", Align::kRight},
                   {"of the step", Align::kRight},
                   {"factor", Align::kRight},
                   {"MFU after", Align::kRight}});
  for (const WaterfallStep& step : e.waterfall) {
    std::string cause(step.cause);
    std::ranges::replace(cause, '_', ' ');
    table.add_row({"  " + cause, readable(step.time),
                   decimals(100.0 * (step.time / p.time.step), 1) + " %", decimals(step.factor, 3),
                   decimals(100.0 * step.mfu_after, 1) + " %"});
    add_parts(step, p.time.step, table);
  }
  return "\nFrom the peak of " + decimals(p.peak_rate.value() / 1e12, 1) +
         " TFLOP/s, at which the " + "step would take " + readable(p.mfu * p.time.step) +
         ", to the MFU\n" + table.text() + (counts_cut_pairs(e) ? std::string(kCutPairs) : "");
}

nlohmann::ordered_json waterfall_to_json(const std::vector<WaterfallStep>& steps) {
  return list_of(steps, [](const WaterfallStep& step) -> Value {
    Value json = {{"cause", step.cause},
                  {"time_s", step.time.value()},
                  {"factor", step.factor},
                  {"mfu_after", step.mfu_after}};
    if (!step.parts.empty()) {
      json["parts"] = list_of(step.parts, [](const KindTime& part) -> Value {
        return {{"kind", part.kind}, {"time_s", part.time.value()}};
      });
    }
    return json;
  });
}

std::string advice_to_text(const std::vector<AdvisedChange>& advice) {
  if (advice.empty()) {
    return "";
  }
  TextTable table({{"  setting"},
                   {"tokens/s/GPU", Align::kRight},
                   {"gain", Align::kRight},
                   {"peak memory", Align::kRight},
                   {"verdict"}});
  for (std::size_t i = 0; i < std::min(advice.size(), kAdviceShown); ++i) {
    const AdvisedChange& change = advice[i];
    table.add_row({"  " + moves_text(change), decimals(change.tokens_per_second_per_gpu, 1),
                   signed_percent(100.0 * change.gain), readable(change.peak_memory),
                   std::string(name(change.verdict))});
  }
  const std::size_t more = advice.size() - std::min(advice.size(), kAdviceShown);
  return "\nOne setting moved by a step, and the best two together\n" + table.text() +
         (more == 0 ? "" : "  " + std::to_string(more) + " more in --format json\n");
}

nlohmann::ordered_json advice_to_json(const std::vector<AdvisedChange>& advice) {
  return list_of(advice, [](const AdvisedChange& change) -> Value {
    Json changes = Json::object();
    for (const auto& [key, value] : change.settings) {
      changes[key] = value;
    }
    return {{"what", moves_text(change)},
            {"change", moves_text(change)},
            {"changes", std::move(changes)},
            {"tokens_per_second_per_gpu", change.tokens_per_second_per_gpu},
            {"gain", change.gain},
            {"peak_memory_bytes", change.peak_memory.value()},
            {"probability", change.probability},
            {"verdict", name(change.verdict)}};
  });
}

std::string limits_text(const std::vector<LimitedTime>& limits) {
  constexpr double kWorthSaying = 0.005;
  std::string text;
  for (const LimitedTime& entry : limits) {
    const double share = entry.time / total(limits);
    if (text.empty() || share >= kWorthSaying) {
      text += (text.empty() ? "" : ", ") + std::string(entry.limit) + " " +
              decimals(100.0 * share, 1) + " %";
    }
  }
  return text;
}

nlohmann::ordered_json limits_to_json(const std::vector<LimitedTime>& limits) {
  return list_of(limits, [&limits](const LimitedTime& entry) -> Value {
    return {{"limit", entry.limit},
            {"time_s", entry.time.value()},
            {"share", entry.time / total(limits)}};
  });
}

std::string path_to_text(const std::vector<PathSegment>& path) {
  if (path.empty()) {
    return "\nCritical path: not followed, the step has too many micro-batches to place each\n";
  }
  const Seconds step = sum_over(path, &PathSegment::time);
  TextTable table(
      {{"times", Align::kRight}, {"time", Align::kRight}, {"share", Align::kRight}, {"what"}});
  for (const PathLine& entry : merged(merged(path_lines(path), absorbs_rank), absorbs_repeat)) {
    table.add_row({with_separators(static_cast<long long>(entry.times)), readable(entry.time),
                   decimals(100.0 * (entry.time / step), 1) + " %",
                   ranks_text(entry) + entry.text});
  }
  return "\nCritical path: what determines the step, from its start\n" + table.text();
}

nlohmann::ordered_json path_to_json(const std::vector<PathSegment>& path) {
  return list_of(path, [](const PathSegment& segment) -> Value {
    return {{"rank", segment.rank},
            {"kind", name(segment.kind)},
            {"count", segment.count},
            {"time_s", segment.time.value()}};
  });
}

std::string sensitivities_to_text(const std::vector<Sensitivity>& sensitivities) {
  std::string text = "\nWhat one per cent more would buy, in tokens/s/GPU\n";
  for (const Sensitivity& s : sensitivities) {
    text += "  " + right(signed_percent(s.change_percent()), 10) + "  " + resource_text(s) + "\n";
  }
  return text;
}

nlohmann::ordered_json sensitivities_to_json(const std::vector<Sensitivity>& sensitivities) {
  Json json = Json::object();
  for (const Sensitivity& s : sensitivities) {
    Json entry = {{"factor", s.factor},
                  {"from_tokens_per_second_per_gpu", s.from},
                  {"to_tokens_per_second_per_gpu", s.to},
                  {"change_percent", s.change_percent()}};
    if (s.to_clock > Hertz{}) {
      entry["from_mhz"] = s.from_clock.value() / 1e6;
      entry["to_mhz"] = s.to_clock.value() / 1e6;
    }
    json[std::string(s.resource)] = std::move(entry);
  }
  return json;
}

}  // namespace stepcast
