// SPDX-License-Identifier: Apache-2.0
// A row of a foreign table on its way to a canonical record (validation/canonical_record.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/validation/canonical_record.hpp"

namespace stepcast {

// Thrown by a reader: no record with an experiment or an operator can be made of the row.
struct RefusedRow {
  std::string reason;
};

inline constexpr Range<double> kMeasuredSeconds{1e-9, 1e6};
inline constexpr Range<double> kMeasuredMicroseconds{1e-3, 1e12};
// What a degree of parallelism, a count of layers or of heads may be.
inline constexpr Range<std::int64_t> kMeasuredDegree{1, 1 << 16};

enum class Truth { kFalse, kTrue };

// A row whose every field is to be right, and where what it names is found.
struct ForeignRow {
  // `read` is what was read of a file: a mapping, which is called a line or a row.
  ForeignRow(ConfigNode read, std::string_view called, ProfileCache& known, Diagnostics& problems);

  ConfigNode object;  // with its keys sorted: records do not depend on their order in the file
  std::string_view what;
  ProfileCache& profiles;
  Diagnostics& diagnostics;

  // Of the row as it is; valid as long as it is neither changed nor gone.
  [[nodiscard]] MappingReader fields() const { return {object, RecordWording{what}, diagnostics}; }
  [[nodiscard]] bool has(std::string_view key) const { return object.find(key) != nullptr; }
  // The scalar of a key; empty without one.
  [[nodiscard]] std::string text(std::string_view key) const;
  // Gives a key the name that operators have for it; an error without the key.
  void rename(std::string_view from, const std::string& to);
  void erase(std::string_view key);
  void set_text(const std::string& key, std::string text);
  void set_count(const std::string& key, std::int64_t count);
  void set_flag(const std::string& key, Truth truth);

 private:
  // The value of a key, which is added if it is absent.
  ConfigNode& value_of(const std::string& key);
};

// An operator that a row holds, and its keys as a record has them.
struct ForeignOperator {
  OperatorLine line;
  Record record;
};
ForeignOperator operator_in(const ForeignRow& row, MappingReader& fields, const DeviceSpec& device);

// The first key of the row with a value that `fields` was not asked for and that is none of `own`;
// empty if there is none.
std::string unread_key(const ForeignRow& row, const MappingReader& fields,
                       std::span<const std::string_view> own);
// The reason to skip a row that states what its reader does not know.
std::string unread_reason(const std::string& key);

// The profile of the part that a row names. Throws RefusedRow if there is none.
std::string required_gpu(const std::string& published, ProfileCache& profiles);
// The pipeline schedule that a row names, as a plan has it; likewise.
std::string required_schedule(const std::string& published);

// Adds the records of a row.
using ReadForeignRow = void (*)(ForeignRow& row, std::vector<Record>& records);

}  // namespace stepcast
