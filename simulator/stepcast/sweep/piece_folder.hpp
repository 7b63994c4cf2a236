// SPDX-License-Identifier: Apache-2.0
// A folder that tasks of many machines fill with the pieces of a sweep: each claims one, prices it
// and puts its part there, until none is left. The folder is all that they share.
//
//   sweep.pieces          the header of a part: which sweep, and into how many pieces it is divided
//   piece_0012.part       a finished part (sweep_part.hpp)
//   piece_0012.claim_1    who prices it; _2 is of the task that took it for a hole, and so on
//   piece_0012.open_1     the part of that claim while it is written
//   task_HOST_PID_START   what the claims of a task are links of
//
// A claim is made by link(2), which one of several tasks succeeds with on NFS and Lustre as well,
// and never changes hands: a hole has a further claim. A part is renamed when it is whole and on
// the disk. So what is there is whole wherever a task is killed, and which task had which piece,
// and in which order, changes no byte. What a killed task leaves is removed once every part is
// there, its own file by a task of its host; until then a claim beside a part says nothing.
//
// A claim without a part is a hole where whoever made it has ended. A process of this host is seen
// to have; of another host only the submission is known, the job array say. Two that price one
// piece write the same bytes: what is taken for a hole and is none costs time alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast {

// A process that prices pieces.
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

struct PieceClaim {
  std::int64_t piece = 1;
  int number = 1;          // 2 and more: of a hole
  std::int64_t there = 0;  // parts that there were then
};

// What is in the folder: of each piece whether its part is there, else its last claim, 0 for none.
struct PieceState {
  bool there = false;
  int claims = 0;
};
using PieceStates = std::map<std::int64_t, PieceState>;  // of pieces that have any file
// How many parts are there.
std::int64_t parts_there(const PieceStates& states);

// The sweep that a folder is of; nothing if it is no folder of pieces. Throws ConfigError if it is
// one of another version of the format.
std::optional<PartHeader> sweep_in(const std::filesystem::path& folder);

class PieceFolder {
 public:
  // Makes the folder, if there is none, for `sweep` in pieces_of its grid. `beside`: submissions
  // that are known to run. Throws ConfigError if it is of another sweep or cannot be written.
  PieceFolder(std::filesystem::path folder, PartHeader sweep, PieceTask self,
              std::vector<std::string> beside);
  PieceFolder(const PieceFolder&) = delete;
  PieceFolder& operator=(const PieceFolder&) = delete;
  ~PieceFolder();  // removes the file of the task

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // Of the part of a piece.
  [[nodiscard]] PartHeader header(std::int64_t piece) const;
  [[nodiscard]] std::int64_t pieces() const { return sweep_.shard.of; }
  [[nodiscard]] PieceStates states() const;

  // A piece that nobody has claimed or, once there is none, a hole; nothing if all are there or
  // with others. Several threads may call it. Throws FileFault.
  std::optional<PieceClaim> claim();
  // Where the part of a claim is written.
  [[nodiscard]] std::filesystem::path open_part(const PieceClaim& claim) const;
  // The part is whole and takes its name. Throws FileFault.
  void finish(const PieceClaim& claim) const;
  // Once every part is there: nothing stays of the claims, nor of tasks of this host that ended.
  void remove_leftovers() const;
  // Others may have the piece; what was written of it is gone.
  void give_back(const PieceClaim& claim);

 private:
  void make_header();
  [[nodiscard]] bool take(const PieceClaim& claim);
  [[nodiscard]] bool holds_hole(const PieceClaim& claim) const;
  [[nodiscard]] std::filesystem::path file(std::int64_t piece, const std::string& ending) const;
  [[nodiscard]] std::filesystem::path claim_file(const PieceClaim& claim) const;
  [[nodiscard]] std::filesystem::path task_file() const;

  std::filesystem::path folder_;
  PartHeader sweep_;
  PieceTask self_;
  std::vector<std::string> beside_;
  std::mutex mutex_;                            // of what follows
  std::set<std::pair<std::int64_t, int>> had_;  // claims of this process, by piece and number
};

}  // namespace stepcast
