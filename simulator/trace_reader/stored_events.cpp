// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/stored_events.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/error.hpp"
#include "trace_reader/nvtx_names.hpp"

namespace stepcast {
namespace {

constexpr std::int64_t kLatest = std::int64_t{1} << 62;  // ns: differences of times stay whole
constexpr double kPerMicrosecond = 1e3;                  // ns

}  // namespace

std::optional<StoredInterval> stored_interval(const SqliteRow& row) {
  const auto start = row.whole(0);
  const auto end = row.whole(1);
  const auto is_time = [](std::int64_t time) { return time > -kLatest && time < kLatest; };
  return start && end && is_time(*start) && is_time(*end) && *start <= *end
             ? std::optional(StoredInterval{*start, *end})
             : std::nullopt;
}

TraceEvent StoredEvents::event(const StoredInterval& interval, std::string_view category,
                               std::string_view name) const {
  TraceEvent event;
  event.phase = "X";
  event.category = category;
  event.name = name.substr(0, kLongestStoredName);
  event.start = static_cast<double>(interval.start - origin_) / kPerMicrosecond;
  event.duration = interval.length() / kPerMicrosecond;
  return event;
}

void StoredEvents::check_held(std::size_t rows) const {
  if (rows > kMostTracedEvents) {
    throw ConfigError({file_, 0, 0}, "the database has more than " +
                                         std::to_string(kMostTracedEvents) +
                                         " ranges or launches of its device's process; record "
                                         "fewer steps");
  }
}

void StoredEvents::add_range(const StoredInterval& interval, std::int64_t thread,
                             std::string_view text) {
  const NvtxRangeName read = nvtx_range_name(text.substr(0, kLongestStoredName));
  const bool operates = read.of_operator && !read.name.starts_with(kFsdpMark);
  TraceEvent range = event(interval, operates ? "cpu_op" : "user_annotation", read.name);
  range.thread = thread;
  range.input_dims = read.input_dims;
  if (const auto kind = step_kind(read.name)) {
    range.marks_step = true;
    marks_.push_back({*kind, std::move(range)});
    if (marks_.size() > kMostMarkedSteps) {
      throw ConfigError({file_, 0, 0}, "the database marks more than " +
                                           std::to_string(kMostMarkedSteps) +
                                           " steps; record fewer");
    }
  } else {
    take_(range);
  }
}

bool StoredEvents::give_steps() {
  const auto first = std::ranges::min_element(marks_, {}, &Mark::kind);
  for (const Mark& mark : marks_) {
    if (mark.kind == first->kind) {
      take_(mark.event);
    }
  }
  return !marks_.empty();
}

}  // namespace stepcast
