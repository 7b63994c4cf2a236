// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operators/operator_sizes.hpp"

#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

constexpr double kMostElements = 1125899906842624.0;  // 2^50, of one tensor

// The key of the largest number that a line gives; `other` if it gives none.
std::string_view largest_of(const ConfigNode& line, std::string_view other) {
  double largest = 0.0;
  for (const ConfigEntry& entry : line.entries) {
    const std::optional<double> number = number_of(entry.value);
    if (number && *number > largest) {
      largest = *number;
      other = entry.key;
    }
  }
  return other;
}

}  // namespace

void check_elements(MappingReader& fields, std::string_view key, double elements) {
  const std::string_view largest = elements > kMostElements ? largest_of(fields.node(), key) : key;
  if (elements > kMostElements && fields.good({largest})) {
    fields.error(largest, "makes a tensor of " + significant(elements, 3) +
                              " elements, more than 2^50; give smaller sizes");
  }
}

}  // namespace stepcast
