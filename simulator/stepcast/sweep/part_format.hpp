// SPDX-License-Identifier: Apache-2.0
// The bytes of a part file, the same on every machine: little-endian, numbers of 4 or 8 bytes,
// doubles as IEEE 754, texts as a length and bytes, checksums by zlib's crc32.
//
//   header  "STEPCAST", u32 version, u32 bytes of a record, u32 length, body, u32 crc of all before
//   frame   i64 chunk, u64 length, payload, u32 crc of all before
//   payload i64 bounded; u32 reasons, each {text, i64 plans}; u64 records, each PlanNumbers field
//           by field
//
// It is no database such as SQLite: what is priced in any order, by any number of tasks, is to be
// the same bytes; a chunk that was torn is to cost that chunk alone; and tasks meet in folders of
// network file systems, where SQLite says of its locks not to rely on them (sqlite.org/faq.html,
// question 5) and link(2), by which pieces are claimed (piece_folder.hpp), holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepcast/graph/op.hpp"
#include "stepcast/result/sweep_summary.hpp"
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

}  // namespace stepcast
