// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/piece_claim.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

namespace stepcast {
namespace {

// Hosts that share a name, and containers of one host that number their processes on their own,
// are told apart by the boot and by the name space of the numbers. Source: proc(5), namespaces(7).
std::string this_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  std::string text = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  for (const char c : "-" + boot.substr(0, boot.find('-')) + "-" + space) {
    text += ascii::is_alphanumeric(c) || c == '-' ? std::string(1, c) : "";
  }
  return text;
}

// When a process of this host began; nothing if it is gone, or has ended and is only not yet taken
// note of. Source: proc(5), /proc/PID/stat: the state is field 3, behind the name in parentheses,
// the start field 22.
std::optional<std::int64_t> start_of(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
  return whole_number(words[kStart]);
}

std::optional<std::string> text_at(const ConfigNode& node, std::string_view key) {
  const ConfigNode* found = node.find(key);
  return found != nullptr && found->kind == ConfigNode::Kind::kScalar ? std::optional(found->text)
                                                                      : std::nullopt;
}

std::optional<std::int64_t> number_at(const ConfigNode& node, std::string_view key) {
  const std::optional<std::string> text = text_at(node, key);
  return text ? whole_number(*text) : std::nullopt;
}

}  // namespace

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
  const auto of_process = whole_number(process.substr(number + 1, start - number - 1));
  const auto started = whole_number(process.substr(start + 1));
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
  if (std::find(beside.begin(), beside.end(), other.submission) != beside.end()) {
    return false;
  }
  if (other.host == self.host) {
    return !runs_here(other);
  }
  return other.submission != self.submission || other.task == self.task;
}

}  // namespace stepcast
