// SPDX-License-Identifier: Apache-2.0
// A part file: the finished chunks of one shard of a sweep. It is the journal of a run, which goes
// on from it after an interruption, the result of a shard, and what a merge reads. part_format.hpp
// has its bytes.
//
// Chunks are appended in any order, each with a checksum; what follows the last whole one is cut
// off. A chunk that cannot be written whole is taken back, so that the file never says more than is
// true.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/file_fault.hpp"
#include "stepcast/sweep/part_format.hpp"

namespace stepcast {

// Why what was begun as `found` is not gone on with as `header`, whatever the shards; empty if it
// can be.
std::string same_sweep_fault(const PartHeader& found, const PartHeader& header);

class SweepPart : public ChunkStore {
 public:
  enum class Existing { kRefuse, kContinue };

  // For reading alone.
  explicit SweepPart(std::filesystem::path file);
  // For writing. An existing file is refused, or continued if it is of the same sweep and shard.
  // Throws ConfigError, also while another process writes it.
  SweepPart(std::filesystem::path file, const PartHeader& header, Existing existing);
  ~SweepPart() override;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const PartHeader& header() const { return table_.header; }
  // What was in the file when it was opened, and what has been kept since.
  [[nodiscard]] const PartTable& table() const { return table_; }
  [[nodiscard]] std::int64_t missing_chunks() const;

  [[nodiscard]] bool has(std::int64_t chunk) const override {
    return table_.places.contains(chunk);
  }
  [[nodiscard]] ChunkResult read(std::int64_t chunk) const override;
  // Throws FileFault; the chunk is then not in the file.
  void keep(std::int64_t chunk, ChunkResult result) override;
  // Everything kept is on the disk. Throws FileFault.
  void sync();
  // Takes the file out of its folder; it lives, and can be written and read, as long as this.
  void unlink() const;

 private:
  void open_to_write(Existing existing);
  void lock() const;
  void start(const PartHeader& header);
  void check_continues(const PartHeader& header) const;
  void append(const std::string& bytes, std::uint64_t to) const;
  [[nodiscard]] ReadAt reader() const;
  [[nodiscard]] std::uint64_t size() const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  PartTable table_;
  std::uint64_t unsynced_ = 0;
  std::mutex mutex_;
};

}  // namespace stepcast
