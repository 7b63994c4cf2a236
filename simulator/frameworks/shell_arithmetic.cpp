// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_arithmetic.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestExpression = 64;  // parentheses, signs and names of names

using Whole = std::int64_t;

struct BinaryOperator {
  std::string_view sign;
  int precedence;
  bool (*apply)(Whole, Whole, Whole&);  // false: out of range
};

bool raised(Whole a, Whole b, Whole& out) {
  constexpr Whole kMost = 64;  // 2**64 is out of range
  out = 1;
  if (a == 0 || a == 1 || a == -1) {
    out = b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a;
    return b >= 0;
  }
  for (Whole i = 0; i < b; ++i) {
    if (i > kMost || __builtin_mul_overflow(out, a, &out)) {
      return false;
    }
  }
  return b >= 0;
}
bool divisible(Whole a, Whole b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<Whole>::min());
}
bool shifted(Whole a, Whole b, Whole& out) {
  const bool small = b >= 0 && b < 62;
  return small && !__builtin_mul_overflow(a, Whole{1} << b, &out);
}

// Longer signs first, so that "**" is not read as "*".
constexpr auto kOperators = std::to_array<BinaryOperator>({
    {"**", 12, raised},
    {"<<", 9, shifted},
    {">>", 9, [](Whole a, Whole b, Whole& out) { return out = a >> (b & 63), b >= 0 && b < 64; }},
    {"==", 7, [](Whole a, Whole b, Whole& out) { return out = a == b, true; }},
    {"!=", 7, [](Whole a, Whole b, Whole& out) { return out = a != b, true; }},
    {"<=", 8, [](Whole a, Whole b, Whole& out) { return out = a <= b, true; }},
    {">=", 8, [](Whole a, Whole b, Whole& out) { return out = a >= b, true; }},
    {"&&", 3, [](Whole a, Whole b, Whole& out) { return out = a != 0 && b != 0, true; }},
    {"||", 2, [](Whole a, Whole b, Whole& out) { return out = a != 0 || b != 0, true; }},
    {"<", 8, [](Whole a, Whole b, Whole& out) { return out = a < b, true; }},
    {">", 8, [](Whole a, Whole b, Whole& out) { return out = a > b, true; }},
    {"&", 6, [](Whole a, Whole b, Whole& out) { return out = a & b, true; }},
    {"^", 5, [](Whole a, Whole b, Whole& out) { return out = a ^ b, true; }},
    {"|", 4, [](Whole a, Whole b, Whole& out) { return out = a | b, true; }},
    {"+", 10, [](Whole a, Whole b, Whole& out) { return !__builtin_add_overflow(a, b, &out); }},
    {"-", 10, [](Whole a, Whole b, Whole& out) { return !__builtin_sub_overflow(a, b, &out); }},
    {"*", 11, [](Whole a, Whole b, Whole& out) { return !__builtin_mul_overflow(a, b, &out); }},
    {"/", 11,
     [](Whole a, Whole b, Whole& out) {
       out = divisible(a, b) ? a / b : 0;
       return divisible(a, b);
     }},
    {"%", 11,
     [](Whole a, Whole b, Whole& out) {
       out = divisible(a, b) ? a % b : 0;
       return divisible(a, b);
     }},
});
constexpr auto kAssignments = std::to_array<std::string_view>(
    {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="});

const BinaryOperator* operator_of(std::string_view text) {
  const auto* const found =
      std::find_if(kOperators.begin(), kOperators.end(),
                   [text](const BinaryOperator& row) { return text.starts_with(row.sign); });
  return found == kOperators.end() ? nullptr : found;
}

int digit_value(char c) {
  return ascii::is_digit(c) ? c - '0' : ascii::is_letter(c) ? ascii::lower(c) - 'a' + 10 : 99;
}

// "12", "0x1f", "017", "2#101".
std::optional<Whole> literal(std::string_view text) {
  Whole base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (const std::size_t hash = text.find('#'); hash != std::string_view::npos) {
    base = literal(text.substr(0, hash)).value_or(0);
    text.remove_prefix(hash + 1);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  Whole value = 0;
  for (const char c : text) {
    const int digit = digit_value(c);
    if (base < 2 || base > 36 || digit >= base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

struct Name {
  std::string name;
  std::string subscript;
};

class Expression {
 public:
  Expression(std::string_view text, const ShellNumbers& numbers, int depth)
      : text_(text), numbers_(numbers), depth_(depth) {}

  std::optional<Whole> value() {
    skip_blanks();
    if (at_ == text_.size()) {
      return 0;
    }
    const std::optional<Whole> whole = listed();
    skip_blanks();
    return at_ == text_.size() ? whole : std::nullopt;
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  void skip_blanks() {
    while (at_ < text_.size() && ascii::is_space(text_[at_])) {
      ++at_;
    }
  }
  bool take(std::string_view sign) {
    skip_blanks();
    const bool here = rest().starts_with(sign);
    at_ += here ? sign.size() : 0;
    return here;
  }

  // a, b
  std::optional<Whole> listed() {
    std::optional<Whole> last = chosen();
    while (last && take(",")) {
      last = chosen();
    }
    return last;
  }

  // a ? b : c, of which only one side is computed.
  std::optional<Whole> chosen() {
    if (++depth_ > kDeepestExpression) {
      return std::nullopt;
    }
    std::optional<Whole> made = binary(2);
    if (made && take("?")) {
      const bool holds = *made != 0;
      const std::optional<Whole> yes = under(holds, [this] { return listed(); });
      if (!take(":")) {
        return std::nullopt;
      }
      const std::optional<Whole> no = under(!holds, [this] { return chosen(); });
      made = yes && no ? std::optional(holds ? *yes : *no) : std::nullopt;
    }
    --depth_;
    return made;
  }

  // Without effects and faults where `counts` is false.
  template <typename Read>
  std::optional<Whole> under(bool counts, Read read) {
    const bool outer = std::exchange(counts_, counts_ && counts);
    const std::optional<Whole> made = read();
    counts_ = outer;
    return made;
  }

  [[nodiscard]] const BinaryOperator* next_operator(int precedence) {
    skip_blanks();
    const BinaryOperator* const next = operator_of(rest());
    const bool binds = next != nullptr && next->precedence >= precedence;
    return binds && !rest().substr(next->sign.size()).starts_with("==") ? next : nullptr;
  }

  std::optional<Whole> binary(int precedence) {
    std::optional<Whole> left = operand();
    const BinaryOperator* next = next_operator(precedence);
    while (left && next != nullptr) {
      at_ += next->sign.size();
      const bool needed = next->sign == "&&" ? *left != 0 : next->sign == "||" ? *left == 0 : true;
      const int inner = next->sign == "**" ? next->precedence : next->precedence + 1;
      const std::optional<Whole> right = under(needed, [&] { return binary(inner); });
      Whole made = 0;
      const bool applied = right && next->apply(*left, *right, made);
      if (!right || (!applied && counts_)) {
        return std::nullopt;
      }
      left = made;
      next = next_operator(precedence);
    }
    return left;
  }

  std::optional<Whole> operand() {
    if (++depth_ > kDeepestExpression) {
      return std::nullopt;
    }
    skip_blanks();
    const std::optional<Whole> made = at_ == text_.size() ? std::nullopt : signed_operand();
    --depth_;
    return made;
  }

  std::optional<Whole> signed_operand() {
    for (const std::string_view sign : {"++", "--"}) {
      if (rest().starts_with(sign)) {
        at_ += sign.size();
        skip_blanks();
        const std::optional<Name> name = named();
        return name ? changed(*name, sign == "++" ? 1 : -1, 0) : std::nullopt;
      }
    }
    const char c = text_[at_];
    if (std::string_view("-+!~").find(c) != std::string_view::npos) {
      ++at_;
      const std::optional<Whole> inner = operand();
      if (!inner || (c == '-' && *inner == std::numeric_limits<Whole>::min())) {
        return std::nullopt;
      }
      return c == '-' ? -*inner : c == '!' ? (*inner == 0 ? 1 : 0) : c == '~' ? ~*inner : *inner;
    }
    if (c == '(') {
      ++at_;
      const std::optional<Whole> inner = listed();
      return take(")") ? inner : std::nullopt;
    }
    return ascii::is_digit(c) ? number() : variable();
  }

  std::optional<Whole> number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (ascii::is_word(text_[at_]) || text_[at_] == '#')) {
      ++at_;
    }
    return literal(text_.substr(begin, at_ - begin));
  }

  // NAME, $NAME, ${NAME}, NAME[i]
  std::optional<Name> named() {
    at_ += rest().starts_with('$') ? 1 : 0;
    const bool braced = rest().starts_with('{');
    at_ += braced ? 1 : 0;
    Name found;
    while (at_ < text_.size() && ascii::is_word(text_[at_])) {
      found.name += text_[at_++];
    }
    if (found.name.empty() || ascii::is_digit(found.name.front())) {
      return std::nullopt;
    }
    if (rest().starts_with('[')) {
      const std::size_t close = text_.find(']', at_);
      if (close == std::string_view::npos) {
        return std::nullopt;
      }
      found.subscript = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    }
    return !braced || take("}") ? std::optional(found) : std::nullopt;
  }

  std::optional<Whole> variable() {
    const std::optional<Name> name = named();
    if (!name) {
      return std::nullopt;
    }
    skip_blanks();
    for (const std::string_view sign : {"++", "--"}) {
      if (rest().starts_with(sign)) {
        at_ += sign.size();
        const Whole step = sign == "++" ? 1 : -1;
        return changed(*name, step, -step);
      }
    }
    for (const std::string_view sign : kAssignments) {
      if (rest().starts_with(sign) && !rest().starts_with("==")) {
        at_ += sign.size();
        return assigned(*name, sign);
      }
    }
    return held(*name);
  }

  std::optional<Whole> held(const Name& name) {
    const std::string text = counts_ ? numbers_.value(name.name, name.subscript) : std::string{};
    return Expression(text, numbers_, depth_).value();
  }

  // Adds `step` to a variable; the value is what it is then and `back`.
  std::optional<Whole> changed(const Name& name, Whole step, Whole back) {
    const std::optional<Whole> before = held(name);
    Whole after = 0;
    if (!before || __builtin_add_overflow(*before, step, &after)) {
      return std::nullopt;
    }
    set(name, after);
    return after + back;
  }

  std::optional<Whole> assigned(const Name& name, std::string_view sign) {
    const std::optional<Whole> right = chosen();
    if (!right || sign == "=") {
      set(name, right);
      return right;
    }
    const BinaryOperator* const change = operator_of(sign.substr(0, sign.size() - 1));
    const std::optional<Whole> before = held(name);
    Whole after = 0;
    if (!before || !change->apply(*before, *right, after)) {
      return std::nullopt;
    }
    set(name, after);
    return after;
  }

  void set(const Name& name, std::optional<Whole> value) {
    if (counts_ && value) {
      numbers_.set(name.name, name.subscript, *value);
    }
  }

  std::string_view text_;
  const ShellNumbers& numbers_;
  int depth_;
  bool counts_ = true;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers) {
  return Expression(text, numbers, 0).value();
}

}  // namespace stepcast
