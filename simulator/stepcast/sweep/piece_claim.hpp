// SPDX-License-Identifier: Apache-2.0
// Who prices a piece of a sweep, and when a claim is one no more.
//
// A claim without a part is a hole where whoever made it has ended. A process of this host is seen
// to have; of another host only the submission is known, the job array say. Two that price one
// piece write the same bytes: what is taken for a hole and is none costs time alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

struct PieceTask {
  std::string submission;    // what was started together: tasks of one leave each other's claims
  std::string task;          // within it; a task that is started again has the same
  std::string host;          // where it runs, and what numbers its processes
  std::int64_t process = 0;  // its number there
  std::int64_t started = 0;  // when that process began: ticks since the host did

  bool operator==(const PieceTask&) const = default;
};

// The process that asks. Without a submission, or without a task, its host, number and start stand
// for them.
PieceTask this_task(const std::string& submission, const std::string& task);

// "bench_4711_8842": differs from that of every other process.
std::string process_text(const PieceTask& task);

// Whether such a text is of a process of this host that has ended.
bool has_ended_here(std::string_view process);

// As a line of JSON, and back; nothing if it is none.
std::string to_text(const PieceTask& task);
std::optional<PieceTask> parse_piece_task(std::string_view text);

// Whether a process of this host still runs.
bool runs_here(const PieceTask& task);

// Whether the claim of `other` is a hole for `self`: not if its submission is one of `beside`,
// which are known to run, else if its process is gone from this host; of another host, if it is of
// another submission, or is this task before it was started again.
bool is_hole(const PieceTask& other, const PieceTask& self, const std::vector<std::string>& beside);

}  // namespace stepcast
