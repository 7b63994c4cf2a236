// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stepcast/base/error.hpp"
#include "stepcast/sweep/sweep_part.hpp"

namespace stepcast {
namespace {

std::string bytes_at(const ReadAt& read, std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  bytes.resize(read(offset, bytes.data(), bytes.size()));
  return bytes;
}

PartHeader read_header(const ReadAt& read, std::uint64_t size, const std::string& name,
                       std::uint64_t& end) {
  using Kind = HeaderStart::Kind;
  const HeaderStart start =
      header_start(bytes_at(read, 0, std::min<std::uint64_t>(size, kHeaderStart)));
  if (start.kind == Kind::kForeign) {
    throw ConfigError({name, 0, 0}, "this is no part of a sweep");
  }
  if (start.kind == Kind::kOtherVersion) {
    throw ConfigError({name, 0, 0},
                      "a part of format version " + std::to_string(start.version) +
                          ", written by another version of the program, which reads " +
                          std::to_string(kPartVersion) + "; run the sweep again");
  }
  if (start.kind == Kind::kTorn || start.length > size) {
    throw ConfigError({name, 0, 0},
                      "the part ends within its header; remove it and run the sweep again");
  }
  std::optional<PartHeader> header = decode_header(bytes_at(read, 0, start.length));
  if (!header) {
    throw ConfigError({name, 0, 0},
                      "the part's header is damaged; remove it and run the sweep again");
  }
  end = start.length;
  return *std::move(header);
}

// The frame at `offset`; nothing if it is not whole.
std::optional<FrameStart> whole_frame(const ReadAt& read, std::uint64_t offset, std::uint64_t size,
                                      const PartHeader& header) {
  constexpr std::uint64_t kAround = kFrameStart + kChecksum;
  if (size - offset < kAround) {
    return std::nullopt;
  }
  const auto start = frame_start(bytes_at(read, offset, kFrameStart), header);
  if (!start || start->length > size - offset - kAround ||
      !frame_is_whole(bytes_at(read, offset, kAround + start->length))) {
    return std::nullopt;
  }
  return start;
}

}  // namespace

PartTable read_part_table(const ReadAt& read, std::uint64_t size, const std::string& name) {
  PartTable table;
  table.header = read_header(read, size, name, table.end);
  while (const auto frame = whole_frame(read, table.end, size, table.header)) {
    // The first of two is kept; they are the same, since a chunk follows from its number.
    table.places.try_emplace(frame->chunk,
                             PartTable::Place{table.end + kFrameStart, frame->length});
    table.end += kFrameStart + frame->length + kChecksum;
  }
  table.cut = size - table.end;
  return table;
}

ChunkResult read_chunk(const ReadAt& read, const PartTable& table, std::int64_t chunk,
                       const std::string& name) {
  const auto place = table.places.find(chunk);
  STEPCAST_CHECK(place != table.places.end(), "a chunk that is not in the part");
  auto result = decode_payload(bytes_at(read, place->second.payload, place->second.length), chunk,
                               table.header.grid);
  if (!result) {
    throw ConfigError({name, 0, 0}, "chunk " + std::to_string(chunk) +
                                        " of the part does not say what became of each of its "
                                        "plans; remove the part and run the sweep again");
  }
  return *std::move(result);
}

}  // namespace stepcast
