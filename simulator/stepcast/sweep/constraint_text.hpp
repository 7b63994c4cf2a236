// SPDX-License-Identifier: Apache-2.0
// A constraint's text, checked word by word and put as muParser takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// What is wrong with a text, and where: an offset in it, from 0.
struct ConstraintFault {
  std::size_t offset = 0;
  std::string message;
};

struct TranslatedConstraint {
  std::string expression;
  std::vector<std::size_t> offsets;  // in the text, of each character of the expression
  bool needs_plan = false;
  std::vector<ConstraintFault> faults;
};

TranslatedConstraint translate_constraint(std::string_view text);

// The number that stands for a text: its 64-bit FNV-1a hash, as far as a double is exact.
double number_of_text(std::string_view text);

}  // namespace stepcast
