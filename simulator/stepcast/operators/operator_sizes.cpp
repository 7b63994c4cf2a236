// SPDX-License-Identifier: Apache-2.0
#include "stepcast/operators/operator_sizes.hpp"

#include "stepcast/config/value_message.hpp"

namespace stepcast {
namespace {

constexpr double kMostElements = 1125899906842624.0;  // 2^50, of one tensor

}  // namespace

void check_elements(MappingReader& fields, std::string_view key, double elements) {
  if (elements > kMostElements) {
    fields.error(key, "makes a tensor of " + significant(elements, 3) +
                          " elements, more than 2^50; give smaller sizes");
  }
}

}  // namespace stepcast
