// SPDX-License-Identifier: Apache-2.0
// The words of a constraint: numbers, names, texts in quotes, and signs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sweep/constraint_expression.hpp"

namespace stepcast {

struct ConstraintWord {
  enum class Kind { kNumber, kName, kText, kSign, kEnd };

  Kind kind = Kind::kEnd;
  std::size_t offset = 0;
  std::string_view text;  // of a text what is between the quotes

  // `and`, `or` and `not` are the signs &&, || and !.
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return kind == Kind::kSign && text == sign;
  }
};

// The words of `text`, which must outlive them, with kEnd as the last; what belongs to no word is a
// fault and is left out.
std::vector<ConstraintWord> words_of(std::string_view text, std::vector<ConstraintFault>& faults);

}  // namespace stepcast
