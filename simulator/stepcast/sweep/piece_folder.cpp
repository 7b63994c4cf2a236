// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/piece_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/sweep/file_fault.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeaderName = "sweep.pieces";
constexpr std::string_view kPiece = "piece_";
constexpr std::string_view kPartEnding = ".part";
constexpr std::string_view kClaim = ".claim_";
constexpr std::string_view kOpen = ".open_";
constexpr std::string_view kTask = "task_";
constexpr std::string_view kHeader = "header_";

std::string bytes_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Opened, since a network's file system looks at the server again for that alone.
bool opens(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  return descriptor >= 0;
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 &&
         of_a.st_ino == of_b.st_ino && of_a.st_dev == of_b.st_dev;
}

// Whether `name` is now a name of `file` and was not there before. A server whose answer was lost
// is asked again and finds the link of the first time.
bool link_to(const fs::path& file, const fs::path& name) {
  if (::link(file.c_str(), name.c_str()) == 0) {
    return true;
  }
  if (errno != EEXIST) {
    file_fault(name, "cannot claim by a hard link, which the folder's file system must have",
               errno);
  }
  return is_same_file(file, name);
}

// A file with these bytes, on the disk. Throws ConfigError: it is the first that a task writes.
void write_whole(const fs::path& file, const std::string& bytes) {
  constexpr mode_t kMode = 0666;
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    throw ConfigError({file.string(), 0, 0}, "cannot write the file: " + system_reason(errno));
  }
  const bool written = ::write(descriptor, bytes.data(), bytes.size()) == std::ssize(bytes) &&
                       ::fsync(descriptor) == 0;
  const int error = errno;
  ::close(descriptor);
  if (!written) {
    ::unlink(file.c_str());
    file_fault(file, "cannot write the file", error);
  }
}

// The number at the start of a text, which loses it; 0 if there is none.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} ? number : 0;
}

void add_file(std::string_view name, std::int64_t pieces, PieceStates& states) {
  if (!name.starts_with(kPiece)) {
    return;
  }
  name.remove_prefix(kPiece.size());
  const std::int64_t piece = take_number(name);
  if (piece < 1 || piece > pieces) {
    return;
  }
  if (name == kPartEnding) {
    states[piece].there = true;
  } else if (name.starts_with(kClaim)) {
    name.remove_prefix(kClaim.size());
    const std::int64_t number = take_number(name);
    int& last = states[piece].claims;
    last = name.empty() ? std::max(last, static_cast<int>(number)) : last;
  }
}

// Hosts that share a name, and containers of one host that number their processes on their own,
// are told apart by the boot and by the name space of the numbers. Source: proc(5), namespaces(7).
std::string this_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  std::string text = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::string space = fs::read_symlink("/proc/self/ns/pid", error).string();
  for (const char c : "-" + boot.substr(0, boot.find('-')) + "-" + space) {
    text += ascii::is_alphanumeric(c) || c == '-' ? std::string(1, c) : "";
  }
  return text;
}

// When a process of this host began; nothing if it is gone, or has ended and is only not yet taken
// note of. Source: proc(5), /proc/PID/stat: the state is field 3, behind the name in parentheses,
// the start field 22.
std::optional<std::int64_t> start_of(std::int64_t process) {
  const std::string text = bytes_in("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  const std::vector<std::string> words{std::istream_iterator<std::string>(fields),
                                       std::istream_iterator<std::string>()};
  constexpr std::size_t kStart = 22 - 3;
  if (words.size() <= kStart || words.front() == "Z" || words.front() == "X") {
    return std::nullopt;
  }
  return parse_number<std::int64_t>(words[kStart]);
}

std::optional<std::string> text_at(const ConfigNode& node, std::string_view key) {
  const ConfigNode* found = node.find(key);
  return found != nullptr && found->kind == ConfigNode::Kind::kScalar ? std::optional(found->text)
                                                                      : std::nullopt;
}

std::optional<std::int64_t> number_at(const ConfigNode& node, std::string_view key) {
  const std::optional<std::string> text = text_at(node, key);
  return text ? parse_number<std::int64_t>(*text) : std::nullopt;
}

}  // namespace

std::optional<PartHeader> sweep_in(const fs::path& folder) {
  const fs::path file = folder / kHeaderName;
  return opens(file) ? std::optional(SweepPart(file).header()) : std::nullopt;
}

std::int64_t parts_there(const PieceStates& states) {
  return std::ranges::count_if(states, [](const auto& state) { return state.second.there; });
}

PieceFolder::PieceFolder(fs::path folder, PartHeader sweep, PieceTask self,
                         std::vector<std::string> beside)
    : folder_(std::move(folder)),
      sweep_(std::move(sweep)),
      self_(std::move(self)),
      beside_(std::move(beside)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw ConfigError({folder_.string(), 0, 0}, "cannot make the folder: " + error.message());
  }
  make_header();
  write_whole(task_file(), to_text(self_));
}

PieceFolder::~PieceFolder() { ::unlink(task_file().c_str()); }

// The first of several tasks that begin at once writes it; all others find theirs to be the same.
void PieceFolder::make_header() {
  sweep_.shard = {1, pieces_of(sweep_.grid)};
  if (!opens(folder_ / kHeaderName)) {
    const fs::path own = folder_ / (std::string(kHeader) + process_text(self_));
    write_whole(own, encode_header(sweep_));
    link_to(own, folder_ / kHeaderName);
    ::unlink(own.c_str());
  }
  const std::optional<PartHeader> found = sweep_in(folder_);
  if (!found) {
    file_fault(folder_ / kHeaderName, "cannot be read", errno);
  }
  if (const std::string other = same_sweep_fault(*found, sweep_); !other.empty()) {
    throw ConfigError({folder_.string(), 0, 0}, other);
  }
  sweep_ = *found;
}

fs::path PieceFolder::file(std::int64_t piece, const std::string& ending) const {
  constexpr std::size_t kDigits = 4;  // of kMostPieces
  const std::string number = std::to_string(piece);
  return folder_ / (std::string(kPiece) +
                    std::string(kDigits - std::min(kDigits, number.size()), '0') + number + ending);
}

fs::path PieceFolder::claim_file(const PieceClaim& claim) const {
  return file(claim.piece, std::string(kClaim) + std::to_string(claim.number));
}

fs::path PieceFolder::open_part(const PieceClaim& claim) const {
  return file(claim.piece, std::string(kOpen) + std::to_string(claim.number));
}

fs::path PieceFolder::task_file() const {
  return folder_ / (std::string(kTask) + process_text(self_));
}

PartHeader PieceFolder::header(std::int64_t piece) const {
  PartHeader header = sweep_;
  header.shard.number = piece;
  return header;
}

PieceStates PieceFolder::states() const {
  PieceStates states;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    add_file(entry->path().filename().string(), pieces(), states);
  }
  if (error) {
    throw FileFault(folder_.string() + ": cannot read the folder: " + error.message());
  }
  return states;
}

// A piece whose part came since the folder was looked at has been priced, and its claim is gone. A
// folder that is seen as it was before another thread claimed is no reason to have its piece twice.
bool PieceFolder::take(const PieceClaim& claim) {
  if (had_.contains({claim.piece, claim.number}) || !link_to(task_file(), claim_file(claim))) {
    return false;
  }
  if (opens(file(claim.piece, std::string(kPartEnding)))) {
    ::unlink(claim_file(claim).c_str());
    return false;
  }
  had_.emplace(claim.piece, claim.number);
  return true;
}

// What cannot be read as a claim is nobody's.
bool PieceFolder::holds_hole(const PieceClaim& claim) const {
  const std::optional<PieceTask> other = parse_piece_task(bytes_in(claim_file(claim)));
  return !other || is_hole(*other, self_, beside_);
}

std::optional<PieceClaim> PieceFolder::claim() {
  const std::scoped_lock lock(mutex_);
  const PieceStates states = this->states();
  const std::int64_t there = parts_there(states);
  // Tasks begin at places of their own, so that few ask for the same piece.
  const auto first = static_cast<std::int64_t>(std::hash<std::string>{}(process_text(self_)) %
                                               static_cast<std::uint64_t>(pieces()));
  for (const bool holes : {false, true}) {
    for (std::int64_t i = 0; i < pieces(); ++i) {
      const std::int64_t piece = (first + i) % pieces() + 1;
      const auto found = states.find(piece);
      const PieceState state = found == states.end() ? PieceState{} : found->second;
      const bool wanted =
          !state.there && (holes ? state.claims > 0 && holds_hole({piece, state.claims, there})
                                 : state.claims == 0);
      if (const PieceClaim claim{piece, state.claims + 1, there}; wanted && take(claim)) {
        return claim;
      }
    }
  }
  return std::nullopt;
}

void PieceFolder::finish(const PieceClaim& claim) const {
  const fs::path part = file(claim.piece, std::string(kPartEnding));
  // A task that took this one for ended may have put the same part there, and removed this.
  if (std::rename(open_part(claim).c_str(), part.c_str()) != 0 && !opens(part)) {
    file_fault(part, "cannot rename the finished part", errno);
  }
  sync_folder(folder_);
  for (int number = claim.number; number >= 1; --number) {
    ::unlink(open_part({claim.piece, number, 0}).c_str());
    ::unlink(claim_file({claim.piece, number, 0}).c_str());
  }
}

// A task that still writes a part which is there finds it so when it is done (finish).
void PieceFolder::remove_leftovers() const {
  if (parts_there(states()) < pieces()) {
    return;
  }
  std::vector<fs::path> left;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool of_claim = name.starts_with(kPiece) && (name.find(kClaim) != std::string::npos ||
                                                       name.find(kOpen) != std::string::npos);
    const auto of_ended = [&name](std::string_view kind) {
      return name.starts_with(kind) && has_ended_here(std::string_view(name).substr(kind.size()));
    };
    if (of_claim || of_ended(kTask) || of_ended(kHeader)) {
      left.push_back(entry->path());
    }
  }
  for (const fs::path& file : left) {
    ::unlink(file.c_str());
  }
}

void PieceFolder::give_back(const PieceClaim& claim) {
  const std::scoped_lock lock(mutex_);
  ::unlink(open_part(claim).c_str());
  ::unlink(claim_file(claim).c_str());
  had_.erase({claim.piece, claim.number});
}

std::string process_text(const PieceTask& task) {
  return task.host + "_" + std::to_string(task.process) + "_" + std::to_string(task.started);
}

bool has_ended_here(std::string_view process) {
  const std::size_t start = process.rfind('_');
  const std::size_t number =
      start == std::string_view::npos ? start : process.rfind('_', start - 1);
  if (number == std::string_view::npos || process.substr(0, number) != this_host()) {
    return false;
  }
  const auto of_process =
      parse_number<std::int64_t>(process.substr(number + 1, start - number - 1));
  const auto started = parse_number<std::int64_t>(process.substr(start + 1));
  return of_process && started && start_of(*of_process) != started;
}

PieceTask this_task(const std::string& submission, const std::string& task) {
  PieceTask self{submission, task, this_host(), ::getpid(), start_of(::getpid()).value_or(0)};
  if (submission.empty()) {
    self.submission = process_text(self);
  }
  if (submission.empty() || task.empty()) {
    self.task = process_text(self);
  }
  return self;
}

std::string to_text(const PieceTask& task) {
  const nlohmann::ordered_json json = {{"submission", task.submission},
                                       {"task", task.task},
                                       {"host", task.host},
                                       {"process", task.process},
                                       {"started", task.started}};
  return json.dump() + "\n";
}

std::optional<PieceTask> parse_piece_task(std::string_view text) {
  Diagnostics diagnostics;
  const auto node = parse_json_object(text, json_line("claim", 1), diagnostics);
  if (!node) {
    return std::nullopt;
  }
  const auto submission = text_at(*node, "submission");
  const auto task = text_at(*node, "task");
  const auto host = text_at(*node, "host");
  const auto process = number_at(*node, "process");
  const auto started = number_at(*node, "started");
  if (!submission || !task || !host || !process || !started) {
    return std::nullopt;
  }
  return PieceTask{*submission, *task, *host, *process, *started};
}

bool runs_here(const PieceTask& task) {
  return task.host == this_host() && start_of(task.process) == task.started;
}

bool is_hole(const PieceTask& other, const PieceTask& self,
             const std::vector<std::string>& beside) {
  if (std::ranges::find(beside, other.submission) != beside.end()) {
    return false;
  }
  if (other.host == self.host) {
    return !runs_here(other);
  }
  return other.submission != self.submission || other.task == self.task;
}

}  // namespace stepcast
