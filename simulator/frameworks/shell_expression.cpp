// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_expression.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

using Words = std::span<const std::string>;

bool compare(const std::string& left, const std::string& sign, const std::string& right) {
  const std::int64_t a = leading_number(left).value_or(0);
  const std::int64_t b = leading_number(right).value_or(0);
  if (sign == "=" || sign == "==") {
    return matches_pattern(left, right);
  }
  if (sign == "!=") {
    return !matches_pattern(left, right);
  }
  if (sign == "=~") {
    return left.find(right) != std::string::npos;
  }
  return (sign == "-eq" && a == b) || (sign == "-ne" && a != b) ||
         ((sign == "-gt" || sign == ">") && a > b) || ((sign == "-lt" || sign == "<") && a < b) ||
         (sign == "-ge" && a >= b) || (sign == "-le" && a <= b);
}

bool one_condition(Words words) {
  if (!words.empty() && words.front() == "!") {
    return !one_condition(words.subspan(1));
  }
  if (words.size() == 2) {
    return words[0] == "-z" ? words[1].empty() : words[0] == "-n" ? !words[1].empty() : true;
  }
  if (words.size() >= 3) {
    return compare(words[0], words[1], words[2]);
  }
  return !words.empty() && !words.front().empty() && words.front() != "-n";
}

template <typename Part>
bool any_part(Words words, std::string_view sign, std::string_view letter, Part holds) {
  while (true) {
    const auto end = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return word == sign || word == letter;
    });
    const auto length = static_cast<std::size_t>(end - words.begin());
    if (holds(words.first(length))) {
      return true;
    }
    if (end == words.end()) {
      return false;
    }
    words = words.subspan(length + 1);
  }
}

constexpr int kDeepestExpression = 64;  // parentheses and names of names

struct BinaryOperator {
  std::string_view sign;
  int precedence;
  bool (*apply)(std::int64_t, std::int64_t, std::int64_t&);  // false: out of range
};

using Whole = std::int64_t;
bool raised(Whole a, Whole b, Whole& out) {
  out = 1;
  for (Whole i = 0; i < b; ++i) {
    if (i > kDeepestExpression || __builtin_mul_overflow(out, a, &out)) {
      return false;
    }
  }
  return b >= 0;
}
bool divisible(Whole a, Whole b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<Whole>::min());
}

// Longer signs first, so that "**" is not read as "*".
constexpr auto kOperators = std::to_array<BinaryOperator>({
    {"**", 6, raised},
    {"==", 2, [](Whole a, Whole b, Whole& out) { return out = a == b, true; }},
    {"!=", 2, [](Whole a, Whole b, Whole& out) { return out = a != b, true; }},
    {"<=", 3, [](Whole a, Whole b, Whole& out) { return out = a <= b, true; }},
    {">=", 3, [](Whole a, Whole b, Whole& out) { return out = a >= b, true; }},
    {"&&", 1, [](Whole a, Whole b, Whole& out) { return out = a != 0 && b != 0, true; }},
    {"||", 1, [](Whole a, Whole b, Whole& out) { return out = a != 0 || b != 0, true; }},
    {"<", 3, [](Whole a, Whole b, Whole& out) { return out = a < b, true; }},
    {">", 3, [](Whole a, Whole b, Whole& out) { return out = a > b, true; }},
    {"+", 4, [](Whole a, Whole b, Whole& out) { return !__builtin_add_overflow(a, b, &out); }},
    {"-", 4, [](Whole a, Whole b, Whole& out) { return !__builtin_sub_overflow(a, b, &out); }},
    {"*", 5, [](Whole a, Whole b, Whole& out) { return !__builtin_mul_overflow(a, b, &out); }},
    {"/", 5,
     [](Whole a, Whole b, Whole& out) {
       out = divisible(a, b) ? a / b : 0;
       return divisible(a, b);
     }},
    {"%", 5,
     [](Whole a, Whole b, Whole& out) {
       out = divisible(a, b) ? a % b : 0;
       return divisible(a, b);
     }},
});

class Expression {
 public:
  Expression(std::string_view text, const ShellVariable& variable, int depth)
      : text_(text), variable_(variable), depth_(depth) {}

  std::optional<Whole> value() {
    const std::optional<Whole> whole = binary(1);
    skip_blanks();
    return at_ == text_.size() ? whole : std::nullopt;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && ascii::is_space(text_[at_])) {
      ++at_;
    }
  }

  const BinaryOperator* next_operator() {
    skip_blanks();
    for (const BinaryOperator& known : kOperators) {
      if (text_.substr(at_).starts_with(known.sign)) {
        return &known;
      }
    }
    return nullptr;
  }

  std::optional<Whole> binary(int precedence) {
    std::optional<Whole> left = operand();
    const BinaryOperator* next = next_operator();
    while (left && next != nullptr && next->precedence >= precedence) {
      at_ += next->sign.size();
      const std::optional<Whole> right = binary(next->precedence + 1);
      Whole both = 0;
      if (!right || !next->apply(*left, *right, both)) {
        return std::nullopt;
      }
      left = both;
      next = next_operator();
    }
    return left;
  }

  std::optional<Whole> operand() {
    skip_blanks();
    if (at_ == text_.size() || ++depth_ > kDeepestExpression) {
      return std::nullopt;
    }
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      const std::optional<Whole> inner = binary(1);
      skip_blanks();
      const bool closed = at_ < text_.size() && text_[at_] == ')';
      at_ += closed ? 1 : 0;
      --depth_;
      return closed ? inner : std::nullopt;
    }
    if (c == '-' || c == '+') {
      ++at_;
      const std::optional<Whole> inner = operand();
      --depth_;
      return inner && c == '-' ? 0 - std::max(*inner, -std::numeric_limits<Whole>::max()) : inner;
    }
    const std::optional<Whole> value = word();
    --depth_;
    return value;
  }

  std::optional<Whole> word() {
    at_ += text_[at_] == '$' ? 1 : 0;
    const bool braced = at_ < text_.size() && text_[at_] == '{';
    at_ += braced ? 1 : 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && ascii::is_word(text_[at_])) {
      ++at_;
    }
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty() || (braced && (at_ == text_.size() || text_[at_] != '}'))) {
      return std::nullopt;
    }
    at_ += braced ? 1 : 0;
    if (ascii::is_digit(name.front())) {
      return whole_number_in(name);
    }
    const std::string held = variable_(std::string(name));
    return held.empty() ? 0 : Expression(held, variable_, depth_).value();
  }

  std::string_view text_;
  const ShellVariable& variable_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable) {
  return Expression(text, variable, 0).value();
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (from < pattern.size() && (pattern[from] == text[at] || pattern[from] == '?')) {
      ++at;
      ++from;
    } else if (from < pattern.size() && pattern[from] == '*') {
      star = from++;
      resume = at;
    } else if (star != std::string_view::npos) {
      from = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', from) == std::string_view::npos;
}

bool shell_test(const std::vector<std::string>& words) {
  return any_part(Words(words), "||", "-o", [](Words alternative) {
    return !any_part(alternative, "&&", "-a", [](Words part) { return !one_condition(part); });
  });
}

}  // namespace stepcast
