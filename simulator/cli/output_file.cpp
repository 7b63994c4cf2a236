// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.hpp"

#include <fcntl.h>
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

// The file that is written before it takes its name. A device or a pipe is written itself: a file
// that took its name would replace it.
std::string written_first(const std::string& name) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  const bool stays = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  return stays ? name : name + ".partial";
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
  partial_ = written_first(name_);
  constexpr mode_t kMode = 0666;
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {
    throw ConfigError({name_, 0, 0}, "cannot write the file: " + system_reason(errno));
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
