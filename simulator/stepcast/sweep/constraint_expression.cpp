// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/constraint_expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/ascii.hpp"
#include "stepcast/base/each_of.hpp"
#include "stepcast/base/nearest_name.hpp"

namespace stepcast {
namespace {

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

bool begins_name(char c) { return ascii::is_letter(c) || c == '_'; }
bool is_of_name(char c) { return begins_name(c) || ascii::is_digit(c); }
bool is_of_number(char c) { return is_of_name(c) || c == '.'; }

// The words of a text, which must outlive them, with kEnd as the last; what belongs to no word is a
// fault and is left out.
class WordSplitter {
 public:
  WordSplitter(std::string_view text, std::vector<ConstraintFault>& faults)
      : text_(text), faults_(faults) {}

  std::vector<ConstraintWord> split() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (ascii::is_space(c)) {
        ++at_;
      } else if (begins_name(c)) {
        keep_name();
      } else if (ascii::is_digit(c) || c == '.') {
        keep(Kind::kNumber, length_of(is_of_number));
      } else if (c == '\'' || c == '"') {
        keep_text();
      } else {
        keep_sign();
      }
    }
    keep(Kind::kEnd, 0);
    return std::move(words_);
  }

 private:
  using Kind = ConstraintWord::Kind;

  std::size_t length_of(bool (*belongs)(char)) const {
    const auto* const begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    return static_cast<std::size_t>(std::find_if_not(begin, text_.end(), belongs) - begin);
  }

  void keep(Kind kind, std::size_t length) {
    words_.push_back({kind, at_, text_.substr(at_, length)});
    at_ += length;
  }

  void keep_name() {
    struct NamedSign {
      std::string_view name;
      std::string_view sign;
    };
    constexpr std::array<NamedSign, 3> kNamed = {{{"and", "&&"}, {"or", "||"}, {"not", "!"}}};
    keep(Kind::kName, length_of(is_of_name));
    ConstraintWord& word = words_.back();
    for (const NamedSign& named : kNamed) {
      if (word.text == named.name) {
        word.kind = Kind::kSign;
        word.text = named.sign;
        return;
      }
    }
  }

  void keep_text() {
    const std::size_t close = text_.find(text_[at_], at_ + 1);
    if (close == std::string_view::npos) {
      faults_.push_back({at_, "has a quote that is never closed"});
      at_ = text_.size();
      return;
    }
    words_.push_back({Kind::kText, at_, text_.substr(at_ + 1, close - at_ - 1)});
    at_ = close + 1;
  }

  void keep_sign() {
    constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "&&", "||"};
    constexpr std::string_view kSigns = "+-*/%^()<>?:,!";
    const char c = text_[at_];
    if (std::ranges::find(kPairs, text_.substr(at_, 2)) != kPairs.end()) {
      keep(Kind::kSign, 2);
    } else if (kSigns.find(c) != std::string_view::npos) {
      keep(Kind::kSign, 1);
    } else {
      const bool plain = ascii::is_printable(c);
      faults_.push_back({at_, c == '=' ? "assigns with '='; write == to compare"
                              : plain
                                  ? "has a '" + std::string(1, c) + "', which means nothing here"
                                  : "has a character that means nothing here"});
      ++at_;
    }
  }

  std::string_view text_;
  std::vector<ConstraintFault>& faults_;
  std::vector<ConstraintWord> words_;
  std::size_t at_ = 0;
};

constexpr int kLoosest = 1;
constexpr int kTighterThanAnd = 4;      // the operand of `not`
constexpr int kTighterThanProduct = 7;  // the operand of a sign

using OfOne = double (*)(double);
using OfTwo = double (*)(double, double);

constexpr double truth(bool value) { return value ? 1.0 : 0.0; }

// What is divided by 0, a root or a logarithm that does not exist, what no double holds: whatever
// is worked out from it is no number either, unless it does not matter to an `or` or an `and`.
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
double number_or_none(double value) { return std::isfinite(value) ? value : kUndefined; }

double either(double a, double b) {
  const bool known = !std::isnan(a) && !std::isnan(b);
  const bool holds = (!std::isnan(a) && a != 0.0) || (!std::isnan(b) && b != 0.0);
  return holds || known ? truth(holds) : kUndefined;
}
double both(double a, double b) {
  const bool known = !std::isnan(a) && !std::isnan(b);
  const bool fails = a == 0.0 || b == 0.0;
  return fails || known ? truth(!fails) : kUndefined;
}

enum class Grouping { kLeft, kRight };
struct BinarySign {
  std::string_view sign;
  int binds;
  OfTwo work;
  Grouping grouping = Grouping::kLeft;
  bool compares_texts = false;
};
constexpr std::array<BinarySign, 14> kBinarySigns = {{
    {"||", 1, either},
    {"&&", 2, both},
    {"==", 4, [](double a, double b) { return truth(a == b); }, Grouping::kLeft, true},
    {"!=", 4, [](double a, double b) { return truth(a != b); }, Grouping::kLeft, true},
    {"<", 4, [](double a, double b) { return truth(a < b); }},
    {">", 4, [](double a, double b) { return truth(a > b); }},
    {"<=", 4, [](double a, double b) { return truth(a <= b); }},
    {">=", 4, [](double a, double b) { return truth(a >= b); }},
    {"+", 5, [](double a, double b) { return a + b; }},
    {"-", 5, [](double a, double b) { return a - b; }},
    {"*", 6, [](double a, double b) { return a * b; }},
    {"/", 6, [](double a, double b) { return a / b; }},
    {"%", 6, [](double a, double b) { return std::fmod(a, b); }},
    // 2 ^ 3 ^ 2 is 2 ^ 9.
    {"^", 7, [](double a, double b) { return std::pow(a, b); }, Grouping::kRight},
}};

// Of one value, or of as many as are given, two by two.
struct NamedFunction {
  std::string_view name;
  OfOne of_one = nullptr;
  OfTwo of_two = nullptr;
};
constexpr std::array<NamedFunction, 6> kFunctions = {{
    {"abs", [](double a) { return std::abs(a); }},
    {"min", nullptr, [](double a, double b) { return std::min(a, b); }},
    {"max", nullptr, [](double a, double b) { return std::max(a, b); }},
    {"log2", [](double a) { return std::log2(a); }},
    {"sqrt", [](double a) { return std::sqrt(a); }},
    {"round", [](double a) { return std::round(a); }},
}};

// At most the first 40 characters, in quotes.
std::string in_quotes(std::string_view text) { return "'" + std::string(text.substr(0, 40)) + "'"; }

std::string remedy_of(std::string_view word, const std::vector<std::string>& known,
                      std::string_view lead) {
  std::string remedy = did_you_mean(word, known);
  if (remedy.empty()) {
    remedy = lead;
    for (const std::string& name : known) {
      remedy += " " + name;
    }
  }
  return remedy;
}

using ExpressionValue = std::function<double(std::span<const double>)>;

// What was read, and the word that makes it a text if it is one.
struct ExpressionOperand {
  ExpressionValue value;
  const ConstraintWord* text = nullptr;
};

ExpressionValue constant_value(double number) {
  return [number](std::span<const double>) { return number; };
}
ExpressionValue applied(OfOne work, ExpressionValue a) {
  return [work, a = std::move(a)](std::span<const double> values) {
    const double x = a(values);
    return std::isnan(x) ? x : number_or_none(work(x));
  };
}
ExpressionValue applied(OfTwo work, ExpressionValue a, ExpressionValue b) {
  const bool needs_both = work != OfTwo{either} && work != OfTwo{both};
  return [work, needs_both, a = std::move(a), b = std::move(b)](std::span<const double> values) {
    const double x = a(values);
    const double y = b(values);
    return needs_both && (std::isnan(x) || std::isnan(y)) ? kUndefined : number_or_none(work(x, y));
  };
}

template <typename Rows>
auto row_named(const Rows& rows, std::string_view name) -> decltype(&*rows.begin()) {
  const auto found =
      std::ranges::find_if(rows, [name](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::optional<double> number_of(const ConstraintWord& word) {
  double number = 0.0;
  const char* const end = word.text.data() + word.text.size();
  const auto read = std::from_chars(word.text.data(), end, number, std::chars_format::fixed);
  const bool plain = read.ec == std::errc{} && read.ptr == end && word.text.back() != '.';
  return plain ? std::optional(number) : std::nullopt;
}

bool is_truth(const ConstraintWord& word) { return word.text == "true" || word.text == "false"; }

// "days < 60", "0.4 <= mfu"
ConstraintLimit limit_of(const std::vector<ConstraintWord>& words) {
  using Kind = ConstraintWord::Kind;
  const bool three = words.size() == 4 && words[1].kind == Kind::kSign;
  const bool name_first = three && words[0].kind == Kind::kName && words[2].kind == Kind::kNumber;
  const bool name_last = three && words[0].kind == Kind::kNumber && words[2].kind == Kind::kName;
  if (!name_first && !name_last) {
    return ConstraintLimit::kNone;
  }
  const bool below = words[1].is_sign("<") || words[1].is_sign("<=");
  const bool above = words[1].is_sign(">") || words[1].is_sign(">=");
  return below == above        ? ConstraintLimit::kNone
         : below == name_first ? ConstraintLimit::kAtMost
                               : ConstraintLimit::kAtLeast;
}

// Reads the words from left to right.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const ConstraintName> names)
      : names_(names), words_(WordSplitter(text, result_.faults).split()), next_(words_.begin()) {}

  ConstraintExpression parse() {
    std::ranges::for_each(words_, [this](const ConstraintWord& word) { check(word); });
    try {
      result_.value = whole();
      result_.limit = limit_of(words_);
      check_constant();
    } catch (const SyntaxFault& fault) {
      // A wrong word makes nonsense of those behind it, so that it alone is worth saying.
      if (result_.faults.empty()) {
        result_.faults.push_back(fault.what);
      }
    }
    std::ranges::stable_sort(result_.faults,
                             [](const auto& a, const auto& b) { return a.offset < b.offset; });
    return std::move(result_);
  }

 private:
  // Nothing behind it can be read.
  struct SyntaxFault {
    ConstraintFault what;
  };

  [[nodiscard]] const ConstraintName* name_of(const ConstraintWord& word) const {
    return word.kind == ConstraintWord::Kind::kName ? row_named(names_, word.text) : nullptr;
  }

  void fault(const ConstraintWord& word, std::string message) {
    result_.faults.push_back({word.offset, std::move(message)});
  }

  // Faults that a word has wherever it stands, so that all of them are named.
  void check(const ConstraintWord& word) {
    if (word.kind == ConstraintWord::Kind::kNumber && !number_of(word)) {
      fault(word, "has " + in_quotes(word.text) + ", which is no number; write e.g. 8 or 0.5");
    } else if (word.kind == ConstraintWord::Kind::kName && std::next(&word)->is_sign("(")) {
      if (row_named(kFunctions, word.text) == nullptr) {
        fault(word, "calls " + in_quotes(word.text) +
                        ", which is none of abs, min, max, log2, sqrt and round");
      }
    } else if (word.kind == ConstraintWord::Kind::kName && !is_truth(word) &&
               name_of(word) == nullptr) {
      const std::vector<std::string> known =
          each_of(names_, [](const ConstraintName& name) { return std::string(name.name); });
      fault(word, "reads " + in_quotes(word.text) + ", which is no name of a plan" +
                      remedy_of(word.text, known, "; texts stand in quotes, and the names are:"));
    }
  }

  // What reads nothing of a plan has the same value for every plan.
  void check_constant() {
    if (result_.faults.empty() && result_.reads.empty() && std::isnan(result_.value({}))) {
      result_.faults.push_back({0,
                                "is no number: it divides by 0, or takes a root or a logarithm "
                                "that does not exist"});
    }
  }

  [[noreturn]] void refuse_next() const {
    throw SyntaxFault{{next_->offset, next_->kind == ConstraintWord::Kind::kEnd
                                          ? "ends too early; write e.g. tp <= gpus_per_node"
                                          : "makes no sense from here; write e.g. tp <= "
                                            "gpus_per_node"}};
  }

  bool take(std::string_view sign) {
    const bool found = next_->is_sign(sign);
    next_ += found ? 1 : 0;
    return found;
  }

  void need(std::string_view sign) {
    if (!take(sign)) {
      refuse_next();
    }
  }

  ExpressionValue whole() {
    if (next_->kind == ConstraintWord::Kind::kEnd) {
      throw SyntaxFault{{0, "is empty; write e.g. tp <= gpus_per_node"}};
    }
    ExpressionValue value = number(choice());
    if (next_->is_sign(",")) {
      throw SyntaxFault{
          {next_->offset, "has more than one value; give each constraint an entry of its own"}};
    }
    if (next_->kind != ConstraintWord::Kind::kEnd) {
      refuse_next();
    }
    return value;
  }

  ExpressionOperand choice() {
    ExpressionOperand condition = binary(kLoosest);
    if (!take("?")) {
      return condition;
    }
    ExpressionValue asked = number(std::move(condition));
    ExpressionValue yes = number(choice());
    need(":");
    return {[asked = std::move(asked), yes = std::move(yes),
             no = number(choice())](std::span<const double> values) {
      const double answer = asked(values);
      if (std::isnan(answer)) {
        return answer;
      }
      return answer != 0.0 ? yes(values) : no(values);
    }};
  }

  ExpressionOperand binary(int least) {
    ExpressionOperand left = operand();
    while (true) {
      const auto* const sign = std::ranges::find_if(
          kBinarySigns, [this](const auto& row) { return next_->is_sign(row.sign); });
      if (sign == kBinarySigns.end() || sign->binds < least) {
        return left;
      }
      ++next_;
      ExpressionOperand right = binary(sign->binds + (sign->grouping == Grouping::kLeft ? 1 : 0));
      if (sign->compares_texts && left.text != nullptr && right.text != nullptr) {
        check_known(*left.text, *right.text);
        check_known(*right.text, *left.text);
        left = {applied(sign->work, std::move(left.value), std::move(right.value))};
      } else {
        ExpressionValue first = number(std::move(left));
        left = {applied(sign->work, std::move(first), number(std::move(right)))};
      }
    }
  }

  ExpressionOperand operand() {
    if (take("!")) {
      return {applied([](double a) { return truth(a == 0.0); }, number(binary(kTighterThanAnd)))};
    }
    if (take("-")) {
      return {applied([](double a) { return -a; }, number(binary(kTighterThanProduct)))};
    }
    if (take("+")) {
      return {number(binary(kTighterThanProduct))};
    }
    if (take("(")) {
      ExpressionOperand inner = choice();
      need(")");
      return inner;
    }
    if (next_->kind == ConstraintWord::Kind::kSign || next_->kind == ConstraintWord::Kind::kEnd) {
      refuse_next();
    }
    const ConstraintWord& word = *next_++;
    return word.kind == ConstraintWord::Kind::kName && next_->is_sign("(") ? call(word)
                                                                           : leaf(word);
  }

  ExpressionOperand leaf(const ConstraintWord& word) {
    if (word.kind == ConstraintWord::Kind::kText) {
      return {constant_value(number_of_text(word.text)), &word};
    }
    if (word.kind == ConstraintWord::Kind::kNumber) {
      return {constant_value(number_of(word).value_or(0.0))};
    }
    const ConstraintName* name = name_of(word);
    if (name == nullptr) {
      return {constant_value(truth(word.text == "true"))};
    }
    const auto place = static_cast<std::size_t>(name - names_.data());
    result_.reads.push_back(place);
    return {[place](std::span<const double> values) { return values[place]; },
            name->kind == ConstraintName::Kind::kText ? &word : nullptr};
  }

  ExpressionOperand call(const ConstraintWord& word) {
    const NamedFunction* known = row_named(kFunctions, word.text);
    // A function that is none takes any number of values, so that what is wrong with them is found.
    const NamedFunction function = known != nullptr ? *known : *row_named(kFunctions, "min");
    need("(");
    ExpressionValue value = number(choice());
    while (function.of_two != nullptr && take(",")) {
      value = applied(function.of_two, std::move(value), number(choice()));
    }
    need(")");
    return {function.of_one != nullptr ? applied(function.of_one, std::move(value)) : value};
  }

  // The value of an operand that must not be a text.
  ExpressionValue number(ExpressionOperand operand) {
    if (operand.text != nullptr) {
      const ConstraintWord& word = *operand.text;
      fault(word, word.kind == ConstraintWord::Kind::kText
                      ? "has a text that is compared with no text; write e.g. schedule == '1f1b'"
                      : "reads '" + std::string(word.text) +
                            "', a text: compare it with a text in quotes by == or !=");
    }
    return std::move(operand.value);
  }

  // A text in quotes must be something that the name it is compared with can be.
  void check_known(const ConstraintWord& word, const ConstraintWord& other) {
    const ConstraintName* name = name_of(other);
    if (word.kind != ConstraintWord::Kind::kText || name == nullptr || name->texts == nullptr) {
      return;
    }
    const std::span<const std::string_view> texts = name->texts();
    if (std::ranges::find(texts, word.text) == texts.end()) {
      const std::vector<std::string> known(texts.begin(), texts.end());
      fault(word, "has " + in_quotes(word.text) + ", which no " + std::string(name->name) + " is" +
                      remedy_of(word.text, known, "; give one of:"));
    }
  }

  std::span<const ConstraintName> names_;
  ConstraintExpression result_;
  std::vector<ConstraintWord> words_;
  std::vector<ConstraintWord>::const_iterator next_;
};

}  // namespace

ConstraintExpression parse_constraint(std::string_view text,
                                      std::span<const ConstraintName> names) {
  return ExpressionParser(text, names).parse();
}

double number_of_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return static_cast<double>(hash >> 11U);
}

}  // namespace stepcast
