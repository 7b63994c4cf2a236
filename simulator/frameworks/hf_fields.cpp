// SPDX-License-Identifier: Apache-2.0
#include "frameworks/hf_fields.hpp"

#include <string>

namespace stepcast {

std::int64_t count_of(MappingReader& fields, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range) {
  const bool absent = fields.node().find(key) == nullptr;
  return fields.optional_count(key, absent ? fallback.absent : fallback.null, range);
}

std::int64_t count_or_null(MappingReader& fields, std::string_view key, Range<std::int64_t> range) {
  const bool absent = fields.node().find(key) == nullptr;
  return absent ? fields.required_count(key, range) : fields.optional_count(key, 0, range);
}

std::int64_t count_of_spellings(MappingReader& fields,
                                std::initializer_list<std::string_view> spellings,
                                Range<std::int64_t> range) {
  std::string_view first;
  std::int64_t number = range.lowest;
  for (const std::string_view key : spellings) {
    if (key == first || fields.node().find(key) == nullptr) {
      continue;
    }
    const std::int64_t next = fields.required_count(key, range);
    if (first.empty()) {
      first = key;
      number = next;
    } else if (next != number && fields.good({first, key})) {
      fields.error(key, "is " + std::to_string(next) + ", but '" + std::string(first) + "' is " +
                            std::to_string(number) + "; they mean the same, so keep one of them");
    }
  }
  return first.empty() ? fields.required_count(*spellings.begin(), range) : number;
}

}  // namespace stepcast
