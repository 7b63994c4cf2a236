// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/sweep_part.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// How many bytes are written before the disk is waited for.
constexpr std::uint64_t kSyncEvery = 256U << 20U;

}  // namespace

std::string same_sweep_fault(const PartHeader& found, const PartHeader& header) {
  if (found.digest != header.digest || found.grid != header.grid) {
    return "a part of another sweep, or of other profiles or another version of the program; "
           "remove "
           "it to start again";
  }
  if (found.top == header.top) {
    return "";
  }
  const auto kept = [](const PartHeader& part) {
    return part.top ? "for the " + std::to_string(*part.top) + " best plans" : "for every plan";
  };
  return "the part is " + kept(found) + ", not " + kept(header) +
         "; go on with the options that it was begun with, or remove it";
}

SweepPart::SweepPart(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw ConfigError({file_.string(), 0, 0}, "cannot open the part: " + system_reason(errno));
  }
  try {
    table_ = read_part_table(reader(), size(), file_.string());
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SweepPart::SweepPart(std::filesystem::path file, const PartHeader& header, Existing existing)
    : file_(std::move(file)) {
  open_to_write(existing);
  try {
    lock();
    start(header);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SweepPart::~SweepPart() { ::close(descriptor_); }

void SweepPart::open_to_write(Existing existing) {
  const int fresh = existing == Existing::kRefuse ? O_EXCL : 0;
  constexpr mode_t kMode = 0666;
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | fresh, kMode);
  if (descriptor_ >= 0) {
    return;
  }
  throw ConfigError(
      {file_.string(), 0, 0},
      errno == EEXIST ? "the file exists; if it is of a sweep that was interrupted, go on from it "
                        "with --resume, else remove it"
                      : "cannot write the part: " + system_reason(errno));
}

// Where the file system has no locks, the user keeps two processes from one part.
void SweepPart::lock() const {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw ConfigError({file_.string(), 0, 0}, "another process writes this part; let it end first");
  }
}

// What was torn while its header was written has nothing to go on from.
void SweepPart::start(const PartHeader& header) {
  const std::uint64_t bytes = size();
  if (!ends_within_header(reader(), bytes)) {
    table_ = read_part_table(reader(), bytes, file_.string());
    check_continues(header);
    if (table_.cut > 0 && ::ftruncate(descriptor_, static_cast<off_t>(table_.end)) != 0) {
      file_fault(file_, "cannot cut the part", errno);
    }
    return;
  }
  if (::ftruncate(descriptor_, 0) != 0) {
    file_fault(file_, "cannot write the part", errno);
  }
  const std::string encoded = encode_header(header);
  append(encoded, 0);
  table_.header = header;
  table_.end = encoded.size();
}

void SweepPart::check_continues(const PartHeader& header) const {
  const PartHeader& found = table_.header;
  if (std::string other = same_sweep_fault(found, header); !other.empty()) {
    throw ConfigError({file_.string(), 0, 0}, std::move(other));
  }
  if (found.shard != header.shard) {
    throw ConfigError({file_.string(), 0, 0}, "the part is shard " + to_text(found.shard) +
                                                  ", not " + to_text(header.shard));
  }
}

std::int64_t SweepPart::missing_chunks() const {
  return std::ssize(chunks_of(header().grid, header().shard)) - table_.chunks();
}

std::uint64_t SweepPart::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    file_fault(file_, "cannot read the part", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw ConfigError({file_.string(), 0, 0},
                      "a part of a sweep is a file; this is something else");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

ReadAt SweepPart::reader() const {
  return [this](std::uint64_t offset, char* to, std::size_t length) {
    std::size_t got = 0;
    while (got < length) {
      const ssize_t more =
          ::pread(descriptor_, to + got, length - got, static_cast<off_t>(offset + got));
      if (more == 0) {
        break;
      }
      if (more < 0 && errno != EINTR) {
        file_fault(file_, "cannot read the part", errno);
      }
      got += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
    }
    return got;
  };
}

ChunkResult SweepPart::read(std::int64_t chunk) const {
  return read_chunk(reader(), table_, chunk, file_.string());
}

// Writes at `to`, the end of the file; takes back what was written if not all could be.
void SweepPart::append(const std::string& bytes, std::uint64_t to) const {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t more = ::pwrite(descriptor_, bytes.data() + written, bytes.size() - written,
                                  static_cast<off_t>(to + written));
    if (more < 0 && errno != EINTR) {
      const int error = errno;
      [[maybe_unused]] const int taken = ::ftruncate(descriptor_, static_cast<off_t>(to));
      file_fault(file_, "cannot write the part", error);
    }
    written += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
  }
}

void SweepPart::keep(std::int64_t chunk, ChunkResult result) {
  const std::string frame = encode_frame(chunk, result);
  const std::scoped_lock lock(mutex_);
  append(frame, table_.end);
  table_.places[chunk] = {table_.end + kFrameStart, frame.size() - kFrameStart - kChecksum};
  table_.end += frame.size();
  unsynced_ += frame.size();
  if (unsynced_ >= kSyncEvery) {
    sync();
  }
}

void SweepPart::sync() {
  if (::fdatasync(descriptor_) != 0) {
    file_fault(file_, "cannot write the part", errno);
  }
  unsynced_ = 0;
}

void SweepPart::unlink() const { ::unlink(file_.c_str()); }

}  // namespace stepcast
