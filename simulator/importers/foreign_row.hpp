// SPDX-License-Identifier: Apache-2.0
// A row of a foreign table on its way to a canonical record (validation/canonical_record.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/json_fields.hpp"
#include "stepcast/validation/canonical_record.hpp"

namespace stepcast {

// Thrown by a reader: no record with an experiment or an operator can be made of the row.
struct RefusedRow {
  std::string reason;
};

inline constexpr Range<double> kMeasuredSeconds{1e-9, 1e6};
inline constexpr Range<double> kMeasuredMicroseconds{1e-3, 1e12};

// A row whose every field is to be right, and where what it names is found.
struct ForeignRow {
  JsonObject object;
  JsonSource source;
  ProfileCache& profiles;
  Diagnostics& diagnostics;

  [[nodiscard]] JsonFields fields() const { return {object, source, diagnostics}; }
  [[nodiscard]] std::string text(std::string_view key) const;
  // Gives a key the name that operators have for it; an error without the key.
  void rename(std::string_view from, const std::string& to);
  void set_text(const std::string& key, std::string text);
  void set(const std::string& key, JsonValue value);
  void set_count(const std::string& key, std::int64_t count);
};

// An operator that a row holds, and its keys as a record has them.
struct ForeignOperator {
  OperatorLine line;
  Record record;
};
ForeignOperator operator_in(const ForeignRow& row, JsonFields& fields, const DeviceSpec& device);

// The first key of the row with a value that `fields` was not asked for and that is none of `own`;
// empty if there is none.
std::string unread_key(const ForeignRow& row, const JsonFields& fields,
                       std::span<const std::string_view> own);
// The reason to skip a row that states what its reader does not know.
std::string unread_reason(const std::string& key);

// The profile of the part that a row names. Throws RefusedRow if there is none.
std::string required_gpu(const std::string& published, ProfileCache& profiles);

// Adds the records of a row.
using ReadForeignRow = void (*)(ForeignRow row, std::vector<Record>& records);

}  // namespace stepcast
