// SPDX-License-Identifier: Apache-2.0
// An expression over named values: parsed once, with every mistake at its place, and worked out for
// each plan.
//
//   value    number | 'text' | name | function(value, ...) | (value) | -value | not value
//   choice   value ? value : value
//   binary   or, and, comparisons, + -, * / %, ^; each binds tighter than those before it, and
//            `not` between `and` and the comparisons
//
// A truth value is 1 or 0, and every number but 0 is true. What has no value, as 1 / 0 and log2(0),
// is NaN, and so is what is worked out from it, but for `true or 1 / 0` and `false and 1 / 0`.
// Texts are compared with texts, by == and != alone.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// A name that an expression may read.
struct ConstraintName {
  enum class Kind { kNumber, kText };

  std::string_view name;
  Kind kind = Kind::kNumber;
  // Everything that a text can be, null where that is not known.
  std::span<const std::string_view> (*texts)() = nullptr;
};

// What is wrong with an expression, and where: an offset in its text, from 0.
struct ConstraintFault {
  std::size_t offset = 0;
  std::string message;
};

// What an expression that compares one name with one number keeps that name to.
enum class ConstraintLimit { kNone, kAtMost, kAtLeast };

struct ConstraintExpression {
  // Its value where `values` holds that of each name, in the order of the names that it was parsed
  // with; a text stands as its `number_of_text`. NaN: no number, so that no constraint on it holds.
  std::function<double(std::span<const double> values)> value;
  std::vector<std::size_t> reads;  // the places of the names that it reads
  ConstraintLimit limit = ConstraintLimit::kNone;
  std::vector<ConstraintFault> faults;  // in the order of the text; with any, it has no value
};

ConstraintExpression parse_constraint(std::string_view text, std::span<const ConstraintName> names);

// The number that stands for a text: its 64-bit FNV-1a hash, as far as a double is exact.
double number_of_text(std::string_view text);

}  // namespace stepcast
