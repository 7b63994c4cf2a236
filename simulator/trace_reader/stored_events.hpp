// SPDX-License-Identifier: Apache-2.0
// Events of a profiler's database, which stores times in whole nanoseconds, as those of a trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace_reader/sqlite_database.hpp"
#include "trace_reader/trace_recording.hpp"

namespace stepcast {

struct StoredInterval {
  std::int64_t start = 0;  // ns
  std::int64_t end = 0;

  [[nodiscard]] double length() const { return static_cast<double>(end - start); }
};

// Of the first two columns of a row. Empty where one is no time, or where it ends before it starts.
std::optional<StoredInterval> stored_interval(const SqliteRow& row);

// What counts of a name stands at its start. One text may be that of many rows, so that what is
// held of it is short.
inline constexpr std::size_t kLongestStoredName = 4096;

class StoredEvents {
 public:
  // `file` is for messages.
  StoredEvents(const std::string& file, const std::function<void(const TraceEvent&)>& take)
      : file_(file), take_(take) {}

  // The time that events are counted from.
  void begin_at(std::int64_t time) { origin_ = time; }

  [[nodiscard]] TraceEvent event(const StoredInterval& interval, std::string_view category,
                                 std::string_view name) const;
  void give(const TraceEvent& event) const { take_(event); }

  // Throws ConfigError for more rows than a reader may hold besides what it gives away.
  void check_held(std::size_t rows) const;

  // A range that a program marked (nvtx_names.hpp): an operator, a step, or neither.
  void add_range(const StoredInterval& interval, std::int64_t thread, std::string_view text);
  // Gives the steps among the ranges, of the kinds that are there those of the first. False where
  // there are none.
  bool give_steps();

 private:
  struct Mark {
    std::size_t kind = 0;
    TraceEvent event;
  };

  const std::string& file_;
  const std::function<void(const TraceEvent&)>& take_;
  std::vector<Mark> marks_;
  std::int64_t origin_ = 0;  // ns
};

// What a reader is told of a database whose ranges are no steps, and what comes of it where what
// was recorded is looked at all the same.
inline constexpr std::string_view kNoStepsMarked =
    "no range is called a step with its number ('step 7')";
inline constexpr std::string_view kTakenForOne = ", so that all that was recorded is taken for one";

}  // namespace stepcast
