// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_condition.hpp"

#include <algorithm>
#include <utility>

#include "frameworks/setting.hpp"
#include "frameworks/shell_pattern.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kNumbers = "-eq -ne -lt -le -gt -ge";
constexpr std::string_view kFilePairs = "-nt -ot -ef";
constexpr std::string_view kFiles = "-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S";
constexpr std::string_view kOtherUnary = "-z -n -v -t -o -R";

bool is_binary(const std::string& word) {
  return word == "=" || word == "==" || word == "!=" || word == "=~" || word == "<" ||
         word == ">" || is_among(kNumbers, word) || is_among(kFilePairs, word);
}
bool is_unary(const std::string& word) {
  return is_among(kFiles, word) || is_among(kOtherUnary, word);
}

bool holds_of(const std::string& sign, std::int64_t a, std::int64_t b) {
  return (sign == "-eq" && a == b) || (sign == "-ne" && a != b) || (sign == "-lt" && a < b) ||
         (sign == "-le" && a <= b) || (sign == "-gt" && a > b) || (sign == "-ge" && a >= b);
}

ShellTruth certain(bool holds) { return {holds, {}, {}}; }

}  // namespace

ShellTruth ShellConditions::of_words(const ShellFields& words) {
  style_ = Style::kWords;
  for (const ShellText& word : words) {
    std::string plain = word.known().value_or("");
    const bool sign = plain == "!" || plain == "(" || plain == ")";
    tokens_.push_back({word, std::move(plain), sign});
  }
  // One word is a text, and of three words the middle one decides.
  if (tokens_.size() == 1) {
    return negated(is_empty(tokens_.front().text));
  }
  return tokens_.empty() ? certain(false) : alternatives();
}

ShellTruth ShellConditions::of_test(const ShellTest& test) {
  style_ = Style::kTest;
  for (const ShellTest::Token& token : test.tokens) {
    if (token.sign) {
      tokens_.push_back({ShellText(token.word.text), token.word.text, true});
      continue;
    }
    ShellText text = expansion_.text(token.word);
    const bool bare = token.word.text.find_first_of("'\"\\$`") == std::string::npos;
    tokens_.push_back({std::move(text), bare ? token.word.text : std::string{}, false});
  }
  return tokens_.empty() ? certain(false) : alternatives();
}

bool ShellConditions::is_next(std::string_view sign, std::string_view letter) const {
  return left() > 0 &&
         (style_ == Style::kTest ? at(0).sign && at(0).plain == sign : at(0).plain == letter);
}

ShellTruth ShellConditions::alternatives() {
  ShellTruth truth = conjunction();
  while (is_next("||", "-o")) {
    ++at_;
    truth = either(truth, conjunction());
  }
  return truth;
}

ShellTruth ShellConditions::conjunction() {
  ShellTruth truth = primary();
  while (is_next("&&", "-a")) {
    ++at_;
    truth = both(truth, primary());
  }
  return truth;
}

ShellTruth ShellConditions::primary() {
  constexpr int kDeepestCondition = 50;
  if (left() == 0 || ++depth_ > kDeepestCondition) {
    return hanging({expansion_.form("[ ]", where_.line)}, {false, false});
  }
  ShellTruth truth;
  if (left() >= 3 && is_binary(at(1).plain) && !(at(0).sign && at(0).plain == "!")) {
    truth = binary(at(0), at(1).plain, at(2));
    at_ += 3;
  } else if (at(0).sign && at(0).plain == "!") {
    ++at_;
    truth = negated(primary());
  } else if (at(0).sign && at(0).plain == "(") {
    ++at_;
    truth = alternatives();
    at_ += left() > 0 ? 1 : 0;
  } else if (left() >= 2 && is_unary(at(0).plain)) {
    truth = unary(at(0).plain, at(1));
    at_ += 2;
  } else {
    truth = negated(is_empty(at(0).text));
    ++at_;
  }
  --depth_;
  return truth;
}

ShellTruth ShellConditions::hanging(const ShellFields& on, Guess guess) const {
  const auto [holds, may_be_absent] = guess;
  ShellTruth truth{holds, {}, {}};
  bool absent = may_be_absent;
  std::vector<ShellUnknownId> ids;
  for (const ShellText& text : on) {
    for (const ShellUnknownId id : text.unknowns()) {
      absent = absent && is_absent(run_.unknowns[id].kind);
      ids.push_back(id);
    }
  }
  (absent ? truth.absent : truth.causes) = std::move(ids);
  return truth;
}

ShellTruth ShellConditions::is_empty(const ShellText& text) {
  if (const auto plain = text.known()) {
    return certain(plain->empty());
  }
  for (const ShellPiece& piece : text.pieces()) {
    const bool filled =
        !piece.unknown || run_.unknowns[*piece.unknown].kind == ShellUnknownKind::kFolder;
    if (filled) {
      return certain(false);
    }
  }
  const bool empty = run_.unknowns.text_of(text).empty();
  return hanging({text}, {empty, empty});
}

ShellTruth ShellConditions::is_set(const std::string& name) {
  if (state_.variables.find(name) != nullptr) {
    return certain(true);
  }
  ShellUnknown unset{ShellUnknownKind::kUnset, name, where_, {ShellText()}, {}, {}, {name}, {}};
  return {false, {}, {run_.absent_one(std::move(unset))}};
}

ShellTruth ShellConditions::file(const std::string& sign, const ShellText& path) {
  const std::string guess = run_.unknowns.text_of(path);
  if (path.known() && guess.empty()) {
    return certain(false);
  }
  if (sign != "-d" && !guess.empty() && is_there_(guess)) {
    return certain(true);
  }
  ShellUnknown there{
      ShellUnknownKind::kFile, sign + " " + guess.substr(0, 60), where_, {}, {}, {}, {}, {}};
  return {false, {run_.unknowns.add(std::move(there))}, {}};
}

ShellTruth ShellConditions::unary(const std::string& sign, const Token& operand) {
  if (sign == "-z") {
    return is_empty(operand.text);
  }
  if (sign == "-n") {
    // Without quotes nothing is left of an empty word, and "[ -n ]" holds.
    const auto sole = operand.text.sole_unknown();
    const bool vanishes = style_ == Style::kWords && sole &&
                          operand.text.pieces().front().quoting == ShellQuoting::kNone &&
                          is_absent(run_.unknowns[*sole].kind);
    if (vanishes) {
      return certain(true);
    }
    return negated(is_empty(operand.text));
  }
  if (sign == "-v") {
    return is_set(run_.unknowns.text_of(operand.text));
  }
  if (is_among(kFiles, sign)) {
    return file(sign, operand.text);
  }
  return hanging({expansion_.form(sign, where_.line)}, {false, false});
}

ShellTruth ShellConditions::matches(const ShellText& text, const ShellText& pattern) {
  const std::string written = expansion_.pattern_of(pattern);
  const bool any = !written.empty() && written.find_first_not_of('*') == std::string::npos;
  if ((any && pattern.known()) || (text == pattern && as_pattern(written) == written)) {
    return certain(true);
  }
  if (is_extended_pattern(written)) {
    return hanging({expansion_.form(written, where_.line)}, {false, false});
  }
  if (text.known() && pattern.known()) {
    return certain(matches_pattern(*text.known(), written));
  }
  // A choice between known texts that are all alike in this is no question.
  const auto sole = text.sole_unknown();
  if (sole && pattern.known() && !run_.unknowns[*sole].alternatives.empty()) {
    std::size_t matched = 0;
    std::size_t readable = 0;
    for (const ShellFields& alternative : run_.unknowns[*sole].alternatives) {
      const bool one = alternative.size() == 1 && alternative.front().known();
      readable += one ? 1 : 0;
      matched += one && matches_pattern(*alternative.front().known(), written) ? 1 : 0;
    }
    const std::size_t all = run_.unknowns[*sole].alternatives.size();
    if (readable == all && (matched == 0 || matched == all)) {
      return certain(matched == all);
    }
  }
  const bool guess = matches_pattern(run_.unknowns.text_of(text), written);
  run_.unknowns.compare(text, run_.unknowns.text_of(pattern));
  return hanging({text, pattern}, {guess, guess});
}

ShellTruth ShellConditions::compared(const ShellText& left, const std::string& sign,
                                     const ShellText& right) {
  const std::string a = run_.unknowns.text_of(left);
  const std::string b = run_.unknowns.text_of(right);
  const bool is_known = left.known() && right.known();
  if (sign == "<" || sign == ">") {
    const bool holds = sign == "<" ? a < b : a > b;
    return is_known ? certain(holds) : hanging({left, right}, {holds, false});
  }
  ShellNumber number_a{whole_number_in(a), {}};
  ShellNumber number_b{whole_number_in(b), {}};
  if (style_ == Style::kTest && is_known) {
    number_a = expansion_.number(a, where_.line);
    number_b = expansion_.number(b, where_.line);
  }
  const bool holds =
      number_a.value && number_b.value && holds_of(sign, *number_a.value, *number_b.value);
  ShellFields on{left, right};
  for (const ShellNumber* number : {&number_a, &number_b}) {
    for (const ShellUnknownId id : number->causes) {
      on.push_back(ShellText::of(id));
    }
  }
  run_.unknowns.compare(left, b);
  const bool unknown =
      std::any_of(on.begin(), on.end(), [](const ShellText& text) { return !text.known(); });
  return unknown ? hanging(on, {holds, number_a.value && number_b.value}) : certain(holds);
}

ShellTruth ShellConditions::regex(const ShellText& left, const ShellText& right) {
  std::string pattern;
  for (const ShellPiece& piece : right.pieces()) {
    const std::string part =
        piece.unknown ? run_.unknowns.text_of(ShellText::of(*piece.unknown)) : piece.text;
    for (const char c : part) {
      const bool letter = piece.quoting == ShellQuoting::kQuoted &&
                          std::string_view(".[]*^$+?(){}|\\").find(c) != std::string_view::npos;
      pattern += (letter ? "\\" : "") + std::string(1, c);
    }
  }
  const auto groups = regex_match(run_.unknowns.text_of(left), pattern);
  const bool holds = groups && !groups->empty();
  ShellFields matched;
  for (const std::string& group : groups.value_or(std::vector<std::string>{})) {
    matched.emplace_back(group);
  }
  if (!groups) {
    return hanging({expansion_.form("=~ " + pattern, where_.line)}, {false, false});
  }
  if (!left.known() || !right.known()) {
    run_.unknowns.compare(left, pattern);
    state_.variables.set("BASH_REMATCH", ShellValue::scalar(expansion_.computed(
                                             {left, right}, {}, "BASH_REMATCH", where_.line)));
    return hanging({left, right}, {holds, false});
  }
  state_.variables.set("BASH_REMATCH", ShellValue::array(matched));
  return certain(holds);
}

ShellTruth ShellConditions::binary(const Token& left, const std::string& sign, const Token& right) {
  if (sign == "=~") {
    return regex(left.text, right.text);
  }
  if (is_among(kFilePairs, sign)) {
    return file(sign, left.text);
  }
  if (sign == "=" || sign == "==" || sign == "!=") {
    ShellText pattern = right.text;
    if (style_ == Style::kWords) {
      pattern = {};
      pattern.add(right.text, ShellQuoting::kQuoted);
    }
    const ShellTruth same = matches(left.text, pattern);
    return sign == "!=" ? negated(same) : same;
  }
  return compared(left.text, sign, right.text);
}

}  // namespace stepcast
