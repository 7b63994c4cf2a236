// SPDX-License-Identifier: Apache-2.0
// Counts of a Hugging Face config.json, whose keys may be null or have more than one spelling.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// What an optional key means if it is not there, and if its value is null.
struct CountFallback {
  std::int64_t absent = 0;
  std::int64_t null = 0;
};

std::int64_t count_of(MappingReader& fields, std::string_view key, CountFallback fallback,
                      Range<std::int64_t> range);
// A key that must be there but may be null, which means none.
std::int64_t count_or_null(MappingReader& fields, std::string_view key, Range<std::int64_t> range);
// A key with several spellings, the first of which is the usual one, that must not contradict each
// other.
std::int64_t count_of_spellings(MappingReader& fields,
                                std::initializer_list<std::string_view> spellings,
                                Range<std::int64_t> range);

}  // namespace stepcast
