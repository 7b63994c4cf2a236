// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "stepcast/base/error.hpp"
#include "stepcast/sweep/file_fault.hpp"

namespace stepcast::cli {
namespace {

constexpr std::size_t kBuffer = 1U << 20U;

constexpr mode_t kMode = 0666;
constexpr int kMostRuns = 100;  // that write one file at the same time

// A device or a pipe is written itself: a file that took its name would replace it.
bool is_written_itself(const std::string& name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// Whether the open file is still the one of that name: another run may have renamed it meanwhile.
bool is_named(int descriptor, const std::string& name) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(name.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Opens the file for this run alone, as long as it is open; what a killed run left in it goes. A
// negative number where another run writes it, with that in errno, or where it cannot be written.
int opened_alone(const std::string& name) {
  while (true) {
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (descriptor < 0) {
      return descriptor;
    }
    // Where a file system knows no locks the file is taken.
    const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (taken && is_named(descriptor, name) && ::ftruncate(descriptor, 0) == 0) {
      return descriptor;
    }
    ::close(descriptor);
    if (!taken) {
      errno = EWOULDBLOCK;
      return -1;
    }
  }
}

// The file that a link leads to, which stays one; it need not be there yet. Throws ConfigError
// where links lead in a circle.
std::string followed(const std::string& name) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::filesystem::path file = name;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(file, error); ++links) {
    if (links == kMostLinks) {
      throw ConfigError({name, 0, 0}, "cannot follow the link: it leads in a circle");
    }
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  }
  return file.string();
}

}  // namespace

OutputFile::OutputFile(const std::string& name) : name_(followed(name)) {
  if (name_.empty()) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  std::error_code error;
  if (std::filesystem::is_directory(name_, error)) {
    throw ConfigError({name_, 0, 0}, "this is a folder; give a file");
  }
  if (is_written_itself(name_)) {
    partial_ = name_;
    descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    open_beside();
  }
  if (descriptor_ < 0) {
    throw ConfigError({name_, 0, 0}, "cannot write the file: " + system_reason(errno));
  }
}

void OutputFile::open_beside() {
  for (int run = 1; run <= kMostRuns; ++run) {
    partial_ = name_ + ".partial" + (run == 1 ? "" : std::to_string(run));
    descriptor_ = opened_alone(partial_);
    if (descriptor_ >= 0 || errno != EWOULDBLOCK) {
      return;
    }
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && !name_.empty()) {
    ::close(descriptor_);
    if (partial_ != name_) {
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
  if (partial_ == name_) {
    ::close(descriptor_);
    descriptor_ = -1;
    return;
  }
  if (::fsync(descriptor_) != 0) {
    fault("cannot write: " + system_reason(errno));
  }
  if (std::rename(partial_.c_str(), name_.c_str()) != 0) {
    fault("cannot rename the finished file: " + system_reason(errno));
  }
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(std::filesystem::path(name_).parent_path());
}

}  // namespace stepcast::cli
