// SPDX-License-Identifier: Apache-2.0
// Payloads of ranges of NVTX as an export of Nsight Systems stores them: bytes, and tables of
// schemas that say which numbers lie where.
//
//   bytes 0  the domain, 4 bytes, and 4 that are not read
//         8  the schema, likewise
//        16  the length of the payload, 8 bytes
//        24  not read
//        32  the payload; numbers begin with their least byte
//
// A table lists the schemas of every process of the report and does not say of which; they are the
// same where all run one NCCL. Of a schema that two list otherwise nothing is told.
//
// That layout stands in no document of NVIDIA's; it is what exports of versions 2026 have. Bytes
// that are not laid out so give nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace_reader/nccl_ranges.hpp"
#include "trace_reader/sqlite_database.hpp"

namespace stepcast {

class NvtxPayloads {
 public:
  // Without schemas where the database has no tables of them.
  explicit NvtxPayloads(const SqliteDatabase& database);

  // What a payload says of a call of NCCL.
  [[nodiscard]] NcclPayload nccl(std::string_view bytes) const;

 private:
  struct Entry {
    std::string name;
    std::size_t offset = 0;  // bytes from the start of the payload
    std::size_t width = 0;   // bytes
    bool operator==(const Entry&) const = default;
  };
  struct Schema {
    std::vector<Entry> entries;
    bool contradicts_itself = false;
  };

  static void add(Entry entry, Schema& schema);

  std::map<std::pair<std::uint64_t, std::uint64_t>, Schema> schemas_;
};

}  // namespace stepcast
