// SPDX-License-Identifier: Apache-2.0
// What stands inside ${ }: names with a fallback, a cut, a change or a part of their value; and the
// words that {a,b} makes.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "frameworks/shell_expansion.hpp"
#include "frameworks/shell_fields.hpp"
#include "frameworks/shell_pattern.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

// Longer texts are not matched against patterns, which takes the square of their length.
constexpr std::size_t kLongestMatched = 2048;

// The place of the ']' that closes the '[' at the start; nothing where none does.
std::optional<std::size_t> closing_bracket(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (open == 0) {
      return i;
    }
  }
  return std::nullopt;
}

enum class Emptiness { kEmpty, kFilled, kUnknown };

// Whether the values are something; what nobody sets is nothing.
Emptiness emptiness(const ShellFields& values, const ShellUnknowns& unknowns) {
  Emptiness found = Emptiness::kEmpty;
  for (const ShellText& value : values) {
    for (const ShellPiece& piece : value.pieces()) {
      if (!piece.unknown) {
        return Emptiness::kFilled;
      }
      const ShellUnknown& unknown = unknowns[*piece.unknown];
      const bool nothing = is_absent(unknown.kind) && unknowns.text_of(value).empty();
      const bool something = unknown.kind == ShellUnknownKind::kFolder;
      if (something) {
        return Emptiness::kFilled;
      }
      found = nothing ? found : Emptiness::kUnknown;
    }
  }
  return found;
}

// Cuts "pattern/by" at a slash that is not escaped, quoted or inside ${ }.
std::pair<std::string_view, std::optional<std::string_view>> at_slash(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '/') {
      return {text.substr(0, at), text.substr(at + 1)};
    }
    at = end_of_construct(text, at);
  }
  return {text, std::nullopt};
}

}  // namespace

std::optional<ShellExpansion::Parameter> ShellExpansion::parameter(std::string_view content) {
  Parameter made;
  std::size_t length = shell_name_length(content);
  if (length == 0 && !content.empty() && ascii::is_digit(content.front())) {
    length = std::min(content.find_first_not_of("0123456789"), content.size());
  } else if (length == 0 && !content.empty() &&
             std::string_view("@*#?$!-").find(content.front()) != std::string_view::npos) {
    length = 1;
  }
  if (length == 0) {
    return std::nullopt;
  }
  made.name = content.substr(0, length);
  made.rest = content.substr(length);
  if (made.rest.starts_with('[')) {
    const std::optional<std::size_t> close = closing_bracket(made.rest);
    if (!close) {
      return std::nullopt;
    }
    made.subscript = made.rest.substr(1, *close - 1);
    made.rest.remove_prefix(*close + 1);
  }
  return made;
}

void ShellExpansion::braced(std::string_view content, int line, Quoting quoting, Fields& fields) {
  if (content.starts_with('#') && content.size() > 1) {
    counted(content.substr(1), line, quoting, fields);
    return;
  }
  if (content.starts_with('!') && content.size() > 1) {
    indirect(content.substr(1), line, quoting, fields);
    return;
  }
  const std::optional<Parameter> found = parameter(content);
  if (!found) {
    const std::string whole = "${" + std::string(content) + "}";
    fields.add(form(content.starts_with('<') ? content : std::string_view(whole), line),
               ShellQuoting::kQuoted);
    return;
  }
  substitute(*found, held(found->name, found->subscript, line), line, quoting, fields);
}

// ${#A}, ${#A[@]}
void ShellExpansion::counted(std::string_view content, int line, Quoting quoting, Fields& fields) {
  const std::optional<Parameter> found = parameter(content);
  if (!found || !found->rest.empty()) {
    fields.add(form("${#" + std::string(content) + "}", line), ShellQuoting::kQuoted);
    return;
  }
  const Held held_values = held(found->name, found->subscript, line);
  ShellFields values = held_values.values;
  if (!held_values.is_set && !held_values.certain) {
    values = {absent_text(held_values, line)};
  }
  std::size_t size = values.size();
  ShellFields unknown;
  for (const ShellText& value : values) {
    if (!value.known()) {
      unknown.push_back(value);
    }
  }
  if (!held_values.listed) {
    size = values.empty() ? 0 : guess_of(values.front()).size();
  } else if (!held_values.is_set) {
    size = 0;
  }
  const std::string text = std::to_string(size);
  const bool counts_items = held_values.listed && held_values.is_set;
  const bool cut = std::any_of(unknown.begin(), unknown.end(), [&](const ShellText& value) {
    const auto sole = value.sole_unknown();
    return sole && (run_.unknowns[*sole].kind == ShellUnknownKind::kChoice ||
                    run_.unknowns[*sole].guess.size() != 1);
  });
  const bool certain = unknown.empty() || (counts_items && !cut);
  insert(one(certain ? ShellText(text) : computed(unknown, text, content, line)), quoting, line,
         fields);
}

// ${!A}: the variable whose name A holds; ${!A[@]}: its keys.
void ShellExpansion::indirect(std::string_view content, int line, Quoting quoting, Fields& fields) {
  std::optional<Parameter> found = parameter(content);
  const std::string whole = "${!" + std::string(content) + "}";
  if (!found || found->rest == "*" || found->rest == "@") {
    fields.add(form(whole, line), ShellQuoting::kQuoted);
    return;
  }
  const ShellValue* const value = state_.variables.find(found->name);
  if (found->subscript && (*found->subscript == "@" || *found->subscript == "*")) {
    Held keys;
    keys.listed = true;
    keys.starred = *found->subscript == "*";
    for (const auto& [place, text] : value == nullptr ? decltype(value->items){} : value->items) {
      keys.values.emplace_back(std::to_string(place));
    }
    for (const auto& [name, text] : value == nullptr ? decltype(value->named){} : value->named) {
      keys.values.emplace_back(name);
    }
    insert(keys, quoting, line, fields);
    return;
  }
  const Held named = held(found->name, found->subscript, line);
  const ShellText text =
      named.is_set && !named.values.empty() ? named.values.front() : absent_text(named, line);
  const std::optional<std::string> name = text.known();
  const std::optional<Parameter> meant = name ? parameter(*name) : std::nullopt;
  if (!meant || !meant->rest.empty()) {
    fields.add(text.known() ? form(whole, line) : computed({text}, {}, whole, line),
               ShellQuoting::kQuoted);
    return;
  }
  substitute({meant->name, meant->subscript, found->rest},
             held(meant->name, meant->subscript, line), line, quoting, fields);
}

// Text behind an operator of ${ }, as in double quotes but that quotes are taken off.
ShellText ShellExpansion::operand(std::string_view raw, int line) {
  Fields fields;
  walk(raw, line, Quoting::kNone, fields);
  return fields.take_joined();
}

// ${A-b}, ${A:-b}, ${A:=b}, ${A:+b}, ${A:?b}; false where the operator is none of these.
// Of "${X:-word}" where nobody knows whether X is empty.
ShellText ShellExpansion::either(const Parameter& parameter, const Held& held,
                                 std::string_view word, Fallback fallback, int line) {
  const bool replaces = fallback == Fallback::kReplaces;
  const ShellFields value = replaces ? ShellFields{} : held.values;
  const ShellFields other{operand(word, line)};
  ShellUnknown choice{ShellUnknownKind::kChoice,
                      "${" + parameter.name + "}",
                      here(line),
                      value,
                      {value, other},
                      {},
                      {},
                      {}};
  for (const ShellText& text : held.values) {
    const std::vector<ShellUnknownId> ids = text.unknowns();
    choice.causes.insert(choice.causes.end(), ids.begin(), ids.end());
  }
  const bool guesses_word = run_.unknowns.text_of(held.values.front()).empty() != replaces;
  choice.guess = guesses_word ? other : value;
  return ShellText::of(run_.unknowns.add(std::move(choice)));
}

bool ShellExpansion::with_fallback(const Parameter& parameter, Held& held, int line,
                                   Quoting quoting, Fields& fields) {
  const bool colon = parameter.rest.starts_with(':') && parameter.rest.size() > 1;
  const std::string_view sign = parameter.rest.substr(colon ? 1 : 0);
  if (sign.empty() || std::string_view("-=+?").find(sign.front()) == std::string_view::npos) {
    return false;
  }
  Emptiness empty = held.is_set ? Emptiness::kFilled : Emptiness::kEmpty;
  if (held.is_set && colon) {
    empty = emptiness(held.values, run_.unknowns);
  } else if (held.is_set && held.listed && held.values.empty()) {
    empty = Emptiness::kEmpty;
  }
  const std::string_view word = sign.substr(1);
  const bool replaces = sign.front() == '+';
  const bool uses_word = replaces ? empty == Emptiness::kFilled : empty == Emptiness::kEmpty;
  if (empty == Emptiness::kUnknown) {
    const Fallback fallback = replaces ? Fallback::kReplaces : Fallback::kStandsIn;
    insert(one(either(parameter, held, word, fallback, line)), quoting, line, fields);
    return true;
  }
  const bool ends_script = sign.front() == '?' && empty == Emptiness::kEmpty;
  if (uses_word && !ends_script) {
    if (sign.front() == '=') {
      assign(parameter.name, parameter.subscript.value_or(""), operand(word, line), line);
    }
    walk(word, line, quoting, fields);
  } else if (ends_script || !replaces) {
    insert(held, quoting, line, fields);
  }
  return true;
}

void ShellExpansion::substitute(const Parameter& parameter, Held held, int line, Quoting quoting,
                                Fields& fields) {
  if (parameter.rest.empty()) {
    insert(held, quoting, line, fields);
    return;
  }
  if (with_fallback(parameter, held, line, quoting, fields)) {
    return;
  }
  if (!held.is_set && !held.certain) {
    held.values = {absent_text(held, line)};
    held.is_set = true;
  }
  if (parameter.rest.front() == ':') {
    insert(sliced(held, parameter.rest.substr(1), line), quoting, line, fields);
    return;
  }
  for (ShellText& value : held.values) {
    value = changed(value, parameter.rest, line);
  }
  insert(held, quoting, line, fields);
}

// ${A:1:2}, ${A[@]:1:2}, ${@:2}
ShellExpansion::Held ShellExpansion::sliced(const Held& held, std::string_view range, int line) {
  const std::size_t colon = range.find(':');
  const ShellNumber begin = number(range.substr(0, colon), line);
  const ShellNumber length = colon == std::string_view::npos
                                 ? ShellNumber{std::int64_t{1} << 40, {}}
                                 : number(range.substr(colon + 1), line);
  Held made = held;
  const bool numbers = begin.value && length.value && begin.causes.empty() && length.causes.empty();
  const bool positions = held.asked == "$@" || held.asked == "$*";
  const bool known = std::all_of(held.values.begin(), held.values.end(),
                                 [](const ShellText& value) { return value.known(); });
  if (!numbers || (!known && !held.listed) || (positions && *begin.value < 1)) {
    made.values = {held.values.empty() || known
                       ? form("${...:" + std::string(range) + "}", line)
                       : computed(held.values, {}, "${...:" + std::string(range) + "}", line)};
    return made;
  }
  const std::string text = held.listed || held.values.empty() ? "" : *held.values.front().known();
  const auto size = static_cast<std::int64_t>(held.listed ? held.values.size() : text.size());
  std::int64_t from = *begin.value - (positions ? 1 : 0);
  from = from < 0 ? size + from : from;
  from = from < 0 ? size : std::min(from, size);  // before the start there is nothing
  const std::int64_t to = *length.value < 0 ? std::max(from, size + *length.value)
                                            : std::min(size, from + *length.value);
  if (held.listed) {
    made.values.assign(held.values.begin() + from, held.values.begin() + to);
  } else if (!held.values.empty()) {
    made.values = {ShellText(std::string_view(text).substr(static_cast<std::size_t>(from),
                                                           static_cast<std::size_t>(to - from)))};
  }
  return made;
}

// ${A#b}, ${A%%b}, ${A/b/c}, ${A^^}, ${A,,}
ShellText ShellExpansion::changed(const ShellText& text, std::string_view change, int line) {
  const std::string what = "${..." + std::string(change) + "}";
  const std::string guess = guess_of(text);
  run_.count(guess.size() * 4, here(line));
  const std::optional<std::string> made =
      guess.size() > kLongestMatched ? std::nullopt : changed_text(guess, change, line);
  if (!text.known()) {
    return computed({text}, made.value_or(std::string{}), what, line);
  }
  return made ? ShellText(*made) : form(what, line, guess);
}

std::optional<std::string> ShellExpansion::changed_text(const std::string& text,
                                                        std::string_view change, int line) {
  const char sign = change.front();
  const bool doubled = change.size() > 1 && change[1] == sign;
  const std::string_view rest = change.substr(doubled ? 2 : 1);
  if (sign == '/') {
    return replaced(text, change.substr(1), line);
  }
  if (sign == '#' || sign == '%') {
    const ShellText operand_text = operand(rest, line);
    const std::string pattern = pattern_of(operand_text);
    const bool followed = operand_text.known() && !is_extended_pattern(pattern);
    return followed ? std::optional(without_match(
                          text, pattern, sign == '#' ? PatternEnd::kStart : PatternEnd::kEnd,
                          doubled ? PatternReach::kLongest : PatternReach::kShortest))
                    : std::nullopt;
  }
  if ((sign != '^' && sign != ',') || !rest.empty()) {
    return std::nullopt;
  }
  std::string made = text;
  for (std::size_t i = 0; i < (doubled ? made.size() : std::min<std::size_t>(1, made.size()));
       ++i) {
    const bool raises = sign == '^' && ascii::is_lower(made[i]);
    made[i] = raises ? static_cast<char>(made[i] - 'a' + 'A') : made[i];
    made[i] = sign == ',' ? ascii::lower(made[i]) : made[i];
  }
  return made;
}

std::optional<std::string> ShellExpansion::replaced(const std::string& text,
                                                    std::string_view change, int line) {
  PatternPlaces places = PatternPlaces::kFirst;
  if (change.starts_with('/') || change.starts_with('#') || change.starts_with('%')) {
    places = change.front() == '/'   ? PatternPlaces::kEach
             : change.front() == '#' ? PatternPlaces::kStart
                                     : PatternPlaces::kEnd;
    change.remove_prefix(1);
  }
  const auto [raw, by] = at_slash(change);
  const ShellText written = operand(raw, line);
  const ShellText replacement = operand(by.value_or(std::string_view{}), line);
  const std::string pattern = pattern_of(written);
  const bool followed = written.known() && replacement.known() && !is_extended_pattern(pattern);
  return followed ? std::optional(with_replaced(text, pattern, *replacement.known(), places))
                  : std::nullopt;
}

// --- braces -------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMostWords = 4096;

struct Braces {
  std::size_t open = 0;
  std::size_t close = 0;
  std::vector<std::string> parts;
};

// "1..9" and "1..9..2".
std::vector<std::string> counted_range(const std::string& inner) {
  const std::size_t first = inner.find("..");
  if (first == std::string::npos) {
    return {};
  }
  const std::size_t second = inner.find("..", first + 2);
  const auto from = whole_number_in(inner.substr(0, first));
  const auto to = whole_number_in(inner.substr(first + 2, second - first - 2));
  const auto step = second == std::string::npos ? std::optional<std::int64_t>(1)
                                                : whole_number_in(inner.substr(second + 2));
  constexpr std::int64_t kMost = 1 << 20;
  const bool padded = inner.starts_with('0') && first > 1;
  if (!from || !to || !step || padded || std::abs(*from) > kMost || std::abs(*to) > kMost ||
      *step == 0 || std::abs(*step) > kMost) {
    return {};
  }
  std::vector<std::string> numbers;
  const std::int64_t pace = *from <= *to ? std::abs(*step) : -std::abs(*step);
  for (std::int64_t i = *from; pace > 0 ? i <= *to : i >= *to; i += pace) {
    if (numbers.size() >= kMostWords) {
      return {};
    }
    numbers.push_back(std::to_string(i));
  }
  return numbers;
}

// The parts of the brace at `open`; none where it is a brace like any other.
Braces braces_at(const std::string& word, std::size_t open) {
  Braces found{open, open, {}};
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t at = open; at < word.size();) {
    const std::size_t next = end_of_construct(word, at);
    const char c = word[at];
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (depth == 0) {
      found.close = at;
      break;
    }
    if (c == ',' && depth == 1) {
      parts.emplace_back();
    } else if (at > open) {
      parts.back() += word.substr(at, next - at);
    }
    at = next;
  }
  if (found.close > open) {
    found.parts = parts.size() > 1 ? parts : counted_range(parts.front());
  }
  return found;
}

void add_braced(const std::string& before, const std::string& word,
                std::vector<std::string>& words) {
  for (std::size_t at = 0; at < word.size() && words.size() < kMostWords;) {
    const Braces found = word[at] == '{' ? braces_at(word, at) : Braces{};
    if (!found.parts.empty()) {
      const std::string start = before + word.substr(0, at);
      const std::string end = word.substr(found.close + 1);
      for (const std::string& part : found.parts) {
        std::vector<std::string> inner;
        add_braced({}, part, inner);
        for (const std::string& one : inner) {
          add_braced(start + one, end, words);
        }
      }
      return;
    }
    at = end_of_construct(word, at);
  }
  words.push_back(before + word);
}

}  // namespace

std::vector<std::string> with_braces(const std::string& word) {
  constexpr std::size_t kLongest = 4096;
  if (word.find('{') == std::string::npos || word.size() > kLongest) {
    return {word};
  }
  std::vector<std::string> words;
  add_braced({}, word, words);
  return words;
}

}  // namespace stepcast
