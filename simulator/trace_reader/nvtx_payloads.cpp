// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nvtx_payloads.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace stepcast {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kDomainAt = 0;
constexpr std::size_t kSchemaAt = 8;
constexpr std::size_t kLengthAt = 16;
constexpr std::size_t kLongestPayload = 1U << 16U;  // bytes of a payload of NCCL's, far above any

// Of NVTX's types of entries, those that NCCL's numbers have.
struct NumberType {
  std::int64_t type;  // NVTX_PAYLOAD_ENTRY_TYPE_
  std::size_t width;
};
constexpr std::array kNumberTypes = {
    NumberType{5, 4},   // INT
    NumberType{6, 4},   // UINT
    NumberType{15, 4},  // INT32
    NumberType{16, 4},  // UINT32
    NumberType{17, 8},  // INT64
    NumberType{18, 8},  // UINT64
    NumberType{22, 8},  // SIZE
};

constexpr std::string_view kCommunicator = "NCCL communicator ID";
constexpr std::string_view kBytes = "Message size [bytes]";
constexpr std::string_view kPeer = "Peer rank";
constexpr std::string_view kRanks = "No. of ranks";
constexpr std::array kRead = {kCommunicator, kBytes, kPeer, kRanks};

std::uint64_t number_at(std::string_view bytes, std::size_t offset, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = width; i > 0; --i) {
    number = number * 256 + static_cast<unsigned char>(bytes[offset + i - 1]);
  }
  return number;
}

std::optional<std::int64_t> as_signed(std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return number <= kMost ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

}  // namespace

void NvtxPayloads::add(Entry entry, Schema& schema) {
  if (schema.contradicts_itself ||
      std::ranges::find(schema.entries, entry) != schema.entries.end()) {
    return;
  }
  schema.contradicts_itself = std::ranges::any_of(schema.entries, [&entry](const Entry& known) {
    const bool overlaps =
        entry.offset < known.offset + known.width && known.offset < entry.offset + entry.width;
    return overlaps || known.name == entry.name;
  });
  schema.entries.push_back(std::move(entry));
}

NvtxPayloads::NvtxPayloads(const SqliteDatabase& database) {
  constexpr std::string_view kTable = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
  for (const char* column : {"domainId", "schemaId", "type", "name", "offset"}) {
    if (!database.has(kTable, column)) {
      return;
    }
  }
  database.read(
      "SELECT domainId, schemaId, type, name, offset FROM NVTX_PAYLOAD_SCHEMA_ENTRIES",
      [this](const SqliteRow& row) {
        const auto domain = row.whole(0);
        const auto schema = row.whole(1);
        const auto* const type =
            std::ranges::find(kNumberTypes, row.whole(2).value_or(0), &NumberType::type);
        const std::int64_t offset = row.whole(4).value_or(0);  // the first has none
        const bool is_read = std::ranges::find(kRead, row.text(3)) != kRead.end();
        if (domain && schema && is_read && type != kNumberTypes.end() && offset >= 0 &&
            offset < static_cast<std::int64_t>(kLongestPayload)) {
          add({std::string(row.text(3)), static_cast<std::size_t>(offset), type->width},
              schemas_[{static_cast<std::uint64_t>(*domain), static_cast<std::uint64_t>(*schema)}]);
        }
      });
}

NcclPayload NvtxPayloads::nccl(std::string_view bytes) const {
  constexpr std::size_t kWord = 4;
  NcclPayload payload;
  if (bytes.size() < kHeaderBytes ||
      number_at(bytes, kLengthAt, 2 * kWord) != bytes.size() - kHeaderBytes) {
    return payload;
  }
  const auto schema =
      schemas_.find({number_at(bytes, kDomainAt, kWord), number_at(bytes, kSchemaAt, kWord)});
  if (schema == schemas_.end() || schema->second.contradicts_itself) {
    return payload;
  }
  const std::string_view values = bytes.substr(kHeaderBytes);
  for (const Entry& entry : schema->second.entries) {
    if (entry.offset + entry.width > values.size()) {
      continue;
    }
    const std::uint64_t number = number_at(values, entry.offset, entry.width);
    if (entry.name == kCommunicator) {
      payload.communicator = number;
    } else if (entry.name == kBytes) {
      payload.bytes = as_signed(number);
    } else if (entry.name == kPeer) {
      payload.peer = as_signed(number);
    } else if (entry.name == kRanks) {
      payload.ranks = as_signed(number);
    }
  }
  return payload;
}

}  // namespace stepcast
