// SPDX-License-Identifier: Apache-2.0
// A part file: the finished chunks of one shard of a sweep. It is the journal of a run, which goes
// on from it after an interruption, the result of a shard, and what a merge reads.
//
// Chunks are appended in any order, each with a checksum; what follows the last whole one is cut
// off. A chunk that cannot be written whole is taken back, so that the file never says more than is
// true.
//
// Its bytes are the same on every machine: little-endian, numbers of 4 or 8 bytes, doubles as IEEE
// 754, texts as a length and bytes, checksums by zlib's crc32.
//
//   header  "STEPCAST", u32 version, u32 bytes of a record, u32 length, body, u32 crc of all before
//   frame   i64 chunk, u64 length, payload, u32 crc of all before
//   payload i64 bounded; u32 reasons, each {text, i64 plans}; u64 records, each PlanNumbers field
//           by field
//
// It is no database such as SQLite: what is priced in any order, by any number of tasks, is to be
// merged to the same bytes; a chunk that was torn is to cost that chunk alone; and tasks meet in
// folders of network file systems, where SQLite says of its locks not to rely on them
// (sqlite.org/faq.html, question 5) and link(2) and rename(2), by which pieces are claimed and
// finished (piece_folder.hpp), hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepcast/model/op.hpp"
#include "stepcast/result/sweep_summary.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/file_fault.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// A change of the layout, or of what PlanNumbers holds, is another version.
inline constexpr std::uint32_t kPartVersion = 2;

struct PartHeader {
  std::string digest;  // of everything that the numbers follow from
  ChunkGrid grid;
  Shard shard;
  SweepSource source;  // so that a part says by itself what it is of
  // The best plans that are asked for; empty where every plan is priced.
  std::optional<std::int64_t> top = std::nullopt;
};

// plan, six numbers beside the breakdown, MFU, and the breakdown
inline constexpr std::size_t kRecordBytes = 8 * (8 + 5 + kAxes);
// Before and behind the payload of a frame: chunk and length, checksum.
inline constexpr std::size_t kFrameStart = 8 + 8;
inline constexpr std::size_t kChecksum = 4;

std::string encode_header(const PartHeader& header);
std::string encode_frame(std::int64_t chunk, const ChunkResult& result);
// Whether the checksum at the end of a whole frame, or header, is that of its bytes.
bool frame_is_whole(std::string_view frame);

// Reads at most `length` bytes at `offset` to `to`; fewer at the end only.
using ReadAt = std::function<std::size_t(std::uint64_t offset, char* to, std::size_t length)>;

// Where the whole chunks of a part lie.
struct PartTable {
  struct Place {
    std::uint64_t payload = 0;
    std::uint64_t length = 0;
  };
  PartHeader header;
  std::unordered_map<std::int64_t, Place> places;
  std::uint64_t end = 0;  // of the last whole chunk
  std::uint64_t cut = 0;  // bytes behind it, of a chunk that was not written whole

  [[nodiscard]] std::int64_t chunks() const { return static_cast<std::int64_t>(places.size()); }
};

// Whether `size` bytes are the beginning of a part's header and no more.
bool ends_within_header(const ReadAt& read, std::uint64_t size);
// Reads the table of `size` bytes. Throws ConfigError if they are no part of a sweep.
PartTable read_part_table(const ReadAt& read, std::uint64_t size, const std::string& name);

// Of a place of the table. Throws ConfigError if it does not say what became of every plan.
ChunkResult read_chunk(const ReadAt& read, const PartTable& table, std::int64_t chunk,
                       const std::string& name);

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
