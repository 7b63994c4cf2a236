// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/sweep/file_fault.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t kBuffer = 1U << 20U;

constexpr mode_t kMode = 0666;
constexpr mode_t kPermissions = 0777;

// A device or a pipe is written itself: a file that took its name would replace it.
bool is_written_itself(const std::string& name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// The open file that a name of the system's is of: 1 for /dev/stdout or /proc/self/fd/1. A negative
// number for any other name.
int descriptor_of(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(file.parent_path(), error);
  const std::string number = file.filename().string();
  const bool counted =
      !number.empty() && number.size() <= 9 && std::ranges::all_of(number, ascii::is_digit);
  return counted && folder == "/proc/" + std::to_string(::getpid()) + "/fd" ? std::stoi(number)
                                                                            : -1;
}

// What a name leads to: a file, which need not be there yet and whose links stay, or an open one.
struct Target {
  std::string file;
  int descriptor = -1;  // below 0: it has a name of its own
};

// Throws ConfigError where links lead in a circle.
Target followed(const std::string& name) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::filesystem::path file = name;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(file, error); ++links) {
    if (const int open = descriptor_of(file); open >= 0) {
      return {name, open};
    }
    if (links == kMostLinks) {
      throw ConfigError({name, 0, 0}, "cannot follow the link: it leads in a circle");
    }
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  }
  return {file.string(), -1};
}

std::string folder_beside(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder.string();
}

// A name that is nobody's, beside a file; `attempt` counts from 1.
std::string name_beside(const std::string& file, int attempt) {
  return (std::filesystem::path(folder_beside(file)) /
          (".stepcast_" + std::to_string(::getpid()) + "_" + std::to_string(attempt) + ".partial"))
      .string();
}

constexpr int kMostAttempts = 100;  // at a name that is nobody's

// Whether a file of that name is not there, or may be written; if not, errno says why.
bool can_be_replaced(const std::string& name) {
  return ::access(name.c_str(), F_OK) == 0 ? ::access(name.c_str(), W_OK) == 0 : errno == ENOENT;
}

std::string open_name(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// Opens a file without a name in a folder, of which nothing is left when the program is killed.
// Below 0 where the file system has none, or none that can be named later.
int opened_without_name(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (descriptor >= 0 && ::access(open_name(descriptor).c_str(), F_OK) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

// A file that takes another one's place takes its permissions and, where that is allowed, its
// owner.
void take_permissions(const std::string& of, int descriptor) {
  struct stat there {};
  if (::stat(of.c_str(), &there) != 0) {
    return;
  }
  // Only a privileged user gives files away, and some file systems know no permissions.
  [[maybe_unused]] const int given = ::fchown(descriptor, there.st_uid, there.st_gid);
  [[maybe_unused]] const int changed = ::fchmod(descriptor, there.st_mode & kPermissions);
}

}  // namespace

std::optional<std::filesystem::path> replaced_file(const std::string& name) {
  const Target target = followed(name);
  if (target.descriptor >= 0 || is_written_itself(target.file)) {
    return std::nullopt;
  }
  std::error_code error;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(target.file, error), error);
}

OutputFile::OutputFile(const std::string& name) {
  if (name.empty()) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  const Target target = followed(name);
  name_ = target.file;
  std::error_code error;
  if (std::filesystem::is_directory(name_, error)) {
    throw ConfigError({name_, 0, 0}, "this is a folder; give a file");
  }
  written_itself_ = target.descriptor >= 0 || is_written_itself(name_);
  if (target.descriptor >= 0) {
    descriptor_ = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
  } else if (written_itself_) {
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (can_be_replaced(name_)) {
    open_beside();
  }
  if (descriptor_ < 0) {
    throw ConfigError({name_, 0, 0}, "cannot write the file: " + system_reason(errno));
  }
}

void OutputFile::open_beside() {
  descriptor_ = opened_without_name(folder_beside(name_));
  for (int attempt = 1; descriptor_ < 0 && attempt <= kMostAttempts; ++attempt) {
    partial_ = name_beside(name_, attempt);
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (descriptor_ < 0 && errno != EEXIST) {
      return;
    }
  }
}

// Gives a file without a name one that nobody has.
void OutputFile::name_partial() {
  for (int attempt = 1; partial_.empty() && attempt <= kMostAttempts; ++attempt) {
    const std::string free = name_beside(name_, attempt);
    if (::linkat(AT_FDCWD, open_name(descriptor_).c_str(), AT_FDCWD, free.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      partial_ = free;
    } else if (errno != EEXIST) {
      break;
    }
  }
  if (partial_.empty()) {
    fault("cannot name the finished file: " + system_reason(errno));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && !name_.empty()) {
    ::close(descriptor_);
    if (!partial_.empty()) {
      ::unlink(partial_.c_str());
    }
  }
}

void OutputFile::fault(const std::string& what) const {
  throw FileFault((name_.empty() ? "standard output" : name_) + ": " + what);
}

void OutputFile::write(std::string_view text) {
  buffer_.append(text);
  if (buffer_.size() >= kBuffer) {
    flush();
  }
}

void OutputFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      fault("cannot write: " + system_reason(errno));
    }
    left.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  buffer_.clear();
}

void OutputFile::keep() {
  flush();
  if (name_.empty()) {
    return;
  }
  if (written_itself_) {
    ::close(descriptor_);
    descriptor_ = -1;
    return;
  }
  take_permissions(name_, descriptor_);
  if (::fsync(descriptor_) != 0) {
    fault("cannot write: " + system_reason(errno));
  }
  name_partial();
  if (std::rename(partial_.c_str(), name_.c_str()) != 0) {
    fault("cannot rename the finished file: " + system_reason(errno));
  }
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(std::filesystem::path(name_).parent_path());
}

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      // The lowest number that is free is this one's. Opened the wrong way round it says of every
      // attempt that the descriptor is bad, as one that is closed does.
      [[maybe_unused]] const int held =
          ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void check_standard_output() {
  if (!std::cout.flush()) {
    throw FileFault("standard output: cannot write: " + system_reason(errno));
  }
}

}  // namespace stepcast::cli
