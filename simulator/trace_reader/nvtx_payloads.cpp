// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nvtx_payloads.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

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
        if (domain && schema && type != kNumberTypes.end() && offset >= 0 &&
            offset < static_cast<std::int64_t>(kLongestPayload)) {
          schemas_[{static_cast<std::uint64_t>(*domain), static_cast<std::uint64_t>(*schema)}]
              .push_back({std::string(row.text(3)), static_cast<std::size_t>(offset), type->width});
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
  if (schema == schemas_.end()) {
    return payload;
  }
  const std::string_view values = bytes.substr(kHeaderBytes);
  for (const Entry& entry : schema->second) {
    if (entry.offset + entry.width > values.size()) {
      continue;
    }
    const std::uint64_t number = number_at(values, entry.offset, entry.width);
    if (entry.name == "NCCL communicator ID") {
      payload.communicator = number;
    } else if (entry.name == "Message size [bytes]") {
      payload.bytes = as_signed(number);
    } else if (entry.name == "Peer rank") {
      payload.peer = as_signed(number);
    } else if (entry.name == "No. of ranks") {
      payload.ranks = as_signed(number);
    }
  }
  return payload;
}

}  // namespace stepcast
