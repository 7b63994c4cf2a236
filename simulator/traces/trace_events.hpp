// SPDX-License-Identifier: Apache-2.0
// The events of a profiler's trace (Chrome trace format as Kineto writes it), read as a stream:
//
//   {"deviceProperties": [{"name": "NVIDIA H200"}], "distributedInfo": {"rank": 0, "world_size":
//   2},
//    "traceEvents": [{"ph": "X", "cat": "kernel", "name": "nvjet_tst", "pid": 0, "tid": 7,
//      "ts": 10.5, "dur": 3.25, "args": {"correlation": 57, "External id": 11}}, ...]}
//
// One event is held at a time. Texts are cut after 4,096 characters; a document that nests deeper
// than 256 levels, or whose every token does not end within 16 MiB, is refused. Numbers that JSON
// does not know (NaN, Infinity) are read, since profilers divide by durations of zero.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>

namespace stepcast {

// What a collective's kernel says of its call.
struct CollectiveCall {
  std::string name;     // "_allgather_base"
  std::string group;    // of ranks, by its name
  std::string members;  // "[0, 1]"
  std::string dtype;    // "BFloat16"
  double in_elements = 0.0;
  double out_elements = 0.0;
  std::int64_t ranks = 0;
  std::int64_t source = -1;       // of a transfer that this rank receives: the sender; -1: none
  std::int64_t destination = -1;  // of one that it sends
};

struct TraceEvent {
  std::string category;
  std::string name;
  std::string phase;
  std::int64_t process = -1;  // -1: named by a text
  std::int64_t thread = -1;
  double start = NAN;  // us
  double duration = NAN;
  std::int64_t correlation = 0;  // 0: none
  std::int64_t external = 0;
  std::string input_dims;  // the list as it is written, without blanks
  CollectiveCall collective;
};

struct TraceHead {
  std::string gpu;         // the first device's name; empty: not stated
  std::int64_t rank = -1;  // -1: not stated
  std::int64_t world = 0;
};

// Calls `take` for every event in order, and gives what stands beside the events. Throws
// ConfigError, which speaks of `file`, for what is no such document.
TraceHead read_trace_events(std::istream& stream, const std::string& file,
                            const std::function<void(const TraceEvent&)>& take);

}  // namespace stepcast
