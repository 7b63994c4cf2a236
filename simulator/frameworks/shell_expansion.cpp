// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_expansion.hpp"

#include <algorithm>
#include <utility>

#include "frameworks/shell_arithmetic.hpp"
#include "frameworks/shell_fields.hpp"
#include "frameworks/shell_pattern.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {

void ShellRun::count(std::size_t characters, const Location& where) {
  expanded += characters + 1;
  if (expanded > kLargestConfig) {
    throw ConfigError(where, "expands to more than 4 MiB of words");
  }
}

ShellUnknownId ShellRun::absent_one(ShellUnknown unknown) {
  const auto found = absent.find(unknown.what);
  if (found != absent.end()) {
    return found->second;
  }
  const std::string name = unknown.what;
  return absent[name] = unknowns.add(std::move(unknown));
}

namespace {

constexpr int kDeepestWord = 16;  // words inside ${ } of words

std::string ansi_text(std::string_view inner) {
  std::string text;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\' || i + 1 == inner.size()) {
      text += inner[i];
      continue;
    }
    const char c = inner[++i];
    text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return text;
}

constexpr std::string_view kUnknownName = "__stepcast_unknown_";

// The unknown that ShellExpansion::script_of writes under this name.
std::optional<ShellUnknownId> unknown_named(const std::string& name) {
  const auto number = name.starts_with(kUnknownName)
                          ? whole_number_in(std::string_view(name).substr(kUnknownName.size()))
                          : std::nullopt;
  return number ? std::optional(static_cast<ShellUnknownId>(*number)) : std::nullopt;
}

std::string separators(const ShellState& state) {
  const ShellValue* const set = state.variables.find("IFS");
  const std::optional<std::string> known =
      set == nullptr || set->items.empty() ? std::nullopt : set->items.begin()->second.known();
  return set != nullptr && set->items.empty() ? std::string{} : known.value_or(" \t\n");
}

}  // namespace

// --- whole words --------------------------------------------------------------------------------

ShellFields ShellExpansion::fields(const ShellRawWord& word) {
  ShellFields all;
  for (const std::string& one : with_braces(word.text)) {
    Fields fields(separators(state_));
    walk(one, word.line, Quoting::kNone, fields);
    for (ShellText& field : fields.take()) {
      run_.count(field.size(), here(word.line));
      all.push_back(std::move(field));
    }
  }
  return all;
}

ShellFields ShellExpansion::fields(const std::vector<ShellRawWord>& words) {
  ShellFields all;
  for (const ShellRawWord& word : words) {
    for (ShellText& field : fields(word)) {
      all.push_back(std::move(field));
    }
  }
  return all;
}

ShellText ShellExpansion::joined(const ShellRawWord& word, Quoting quoting) {
  Fields fields;
  walk(word.text, word.line, quoting, fields);
  ShellText text = fields.take_joined();
  run_.count(text.size(), here(word.line));
  return text;
}

ShellText ShellExpansion::text(const ShellRawWord& word) { return joined(word, Quoting::kNone); }

ShellText ShellExpansion::document(const ShellRawWord& text) {
  return joined(text, Quoting::kDocument);
}

ShellText ShellExpansion::computed(const ShellFields& from, const std::string& guess,
                                   std::string_view what, int line) {
  ShellUnknown unknown{ShellUnknownKind::kComputed,
                       std::string(what.substr(0, 60)),
                       here(line),
                       {ShellText(guess)},
                       {},
                       {},
                       {},
                       {}};
  for (const ShellText& text : from) {
    for (const ShellUnknownId id : text.unknowns()) {
      unknown.causes.push_back(id);
    }
  }
  return ShellText::of(run_.unknowns.add(std::move(unknown)));
}

ShellText ShellExpansion::form(std::string_view what, int line, const std::string& guess) {
  return ShellText::of(run_.unknowns.add({ShellUnknownKind::kForm,
                                          std::string(what.substr(0, 60)),
                                          here(line),
                                          {ShellText(guess)},
                                          {},
                                          {},
                                          {},
                                          {}}));
}

std::string ShellExpansion::script_of(const ShellText& text) {
  std::string script;
  for (const ShellPiece& piece : text.pieces()) {
    script += piece.unknown
                  ? "${" + std::string(kUnknownName) + std::to_string(*piece.unknown) + "}"
                  : piece.text;
  }
  return script;
}

ShellText ShellExpansion::literal_text(std::string_view script) {
  const std::string open = "${" + std::string(kUnknownName);
  ShellText made;
  while (!script.empty()) {
    const std::size_t at = std::min(script.find(open), script.size());
    made.add(script.substr(0, at), ShellQuoting::kQuoted);
    const std::size_t end = script.find('}', at);
    const auto id = end == std::string_view::npos
                        ? std::nullopt
                        : unknown_named(std::string(script.substr(at + 2, end - at - 2)));
    if (id) {
      made.add(*id, ShellQuoting::kQuoted);
      script.remove_prefix(end + 1);
    } else {
      made.add(script.substr(at, 2), ShellQuoting::kQuoted);
      script.remove_prefix(std::min(at + 2, script.size()));
    }
  }
  return made;
}

ShellFields ShellExpansion::items(ShellFields fields, int line) {
  for (ShellText& field : fields) {
    const auto sole = field.sole_unknown();
    if (sole && field.pieces().front().quoting == ShellQuoting::kNone) {
      ShellUnknown list{ShellUnknownKind::kComputed,
                        run_.unknowns[*sole].what,
                        here(line),
                        {},
                        {},
                        {*sole},
                        {},
                        {}};
      for (const std::string& word : run_.unknowns.words_of({field})) {
        list.guess.emplace_back(word);
      }
      field = ShellText::of(run_.unknowns.add(std::move(list)));
    }
  }
  return fields;
}

ShellFields ShellExpansion::arguments(const ShellFields& fields,
                                      std::vector<ShellUnknownId>& causes, int line) {
  ShellFields kept;
  for (const ShellText& field : fields) {
    const auto sole = field.sole_unknown();
    const bool open = sole && (field.pieces().front().quoting == ShellQuoting::kNone ||
                               run_.unknowns[*sole].guess.size() != 1);
    if (!open) {
      kept.push_back(field);
      continue;
    }
    causes.push_back(*sole);
    for (const std::string& word : run_.unknowns.words_of({field})) {
      kept.emplace_back(word);
    }
  }
  for (ShellText& text : kept) {
    if (!causes.empty()) {
      ShellFields from{text};
      for (const ShellUnknownId id : causes) {
        from.push_back(ShellText::of(id));
      }
      text = computed(from, guess_of(text), "an argument", line);
    }
  }
  return kept;
}

std::string ShellExpansion::pattern_of(const ShellText& text) const {
  std::string pattern;
  for (const ShellPiece& piece : text.pieces()) {
    const std::string part =
        piece.unknown ? run_.unknowns.text_of(ShellText::of(*piece.unknown)) : piece.text;
    pattern += piece.quoting == ShellQuoting::kQuoted ? as_pattern(part) : part;
  }
  return pattern;
}

// --- letters and quotes -------------------------------------------------------------------------

void ShellExpansion::walk(std::string_view raw, int line, Quoting quoting, Fields& fields) {
  if (++depth_ > kDeepestWord) {
    throw ConfigError(here(line),
                      "has words inside words more than " + std::to_string(kDeepestWord) + " deep");
  }
  std::size_t at = 0;
  if (quoting == Quoting::kNone && raw.starts_with('~') && (raw.size() == 1 || raw[1] == '/')) {
    Held home = held("HOME", std::nullopt, line);
    fields.add(home.is_set && !home.values.empty() ? home.values.front() : absent_text(home, line),
               ShellQuoting::kQuoted);
    at = 1;
  }
  while (at < raw.size()) {
    at = std::max(at + 1, walk_one(raw, at, line, quoting, fields));
  }
  --depth_;
}

std::size_t ShellExpansion::walk_one(std::string_view raw, std::size_t at, int line,
                                     Quoting quoting, Fields& fields) {
  const char c = raw[at];
  const bool quoted = quoting != Quoting::kNone;
  line += static_cast<int>(
      std::count(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  if (c == '\\') {
    return escaped(raw, at, quoting, fields);
  }
  if (c == '$') {
    return dollar(raw, at, line, quoting, fields);
  }
  if (c == '`') {
    const std::size_t end = end_of_construct(raw, at);
    const std::string command =
        without_backquotes(raw.substr(at + 1, std::max(end, at + 2) - at - 2));
    insert(one(printed_(command, line)), quoting, line, fields);
    return end;
  }
  if ((c == '\'' || c == '"') && !quoted) {
    const std::size_t end = end_of_construct(raw, at);
    const std::string_view inner = raw.substr(at + 1, std::max(end, at + 2) - at - 2);
    if (c == '"') {
      double_quoted(inner, line, fields);
    } else {
      fields.add(literal_text(inner), ShellQuoting::kQuoted);
      fields.open();
    }
    return end;
  }
  if (c == '"' && quoting == Quoting::kDouble) {
    return at + 1;  // of "${A:-"b"}", which is taken off
  }
  if (!quoted && at == 0 && (raw.starts_with("<(") || raw.starts_with(">("))) {
    fields.add(form(raw, line), ShellQuoting::kQuoted);
    return raw.size();
  }
  fields.add(raw.substr(at, 1), quoted ? ShellQuoting::kQuoted : ShellQuoting::kNone);
  return at + 1;
}

std::size_t ShellExpansion::escaped(std::string_view raw, std::size_t at, Quoting quoting,
                                    Fields& fields) {
  if (at + 1 == raw.size()) {
    fields.add("\\", ShellQuoting::kQuoted);
    return at + 1;
  }
  const char next = raw[at + 1];
  const std::string_view special = quoting == Quoting::kDouble ? "\"$\\`" : "$\\`";
  if (next == '\n') {
    return at + 2;
  }
  const bool taken = quoting == Quoting::kNone || special.find(next) != std::string_view::npos;
  fields.add(raw.substr(taken ? at + 1 : at, taken ? 1 : 2), ShellQuoting::kQuoted);
  return at + 2;
}

// Quotes make a field, though an empty one, unless there is a list of nothing in them.
void ShellExpansion::double_quoted(std::string_view inner, int line, Fields& fields) {
  const std::size_t lists = fields.empty_lists();
  const std::size_t before = fields.size();
  walk(inner, line, Quoting::kDouble, fields);
  if (fields.empty_lists() == lists || fields.size() > before) {
    fields.open();
  }
}

std::size_t ShellExpansion::dollar(std::string_view raw, std::size_t at, int line, Quoting quoting,
                                   Fields& fields) {
  const char next = at + 1 < raw.size() ? raw[at + 1] : '\0';
  const std::size_t end =
      quoting == Quoting::kNone ? end_of_construct(raw, at) : end_of_quoted_construct(raw, at);
  const std::string_view inner =
      end > at + 3 ? raw.substr(at + 2, end - at - 3) : std::string_view{};
  if (next == '(' && inner.starts_with('(') && inner.ends_with(')')) {
    const std::string_view expression = inner.substr(1, std::max<std::size_t>(inner.size(), 2) - 2);
    insert(one(text_of(number(expression, line), expression, line)), quoting, line, fields);
    return end;
  }
  if (next == '(') {
    insert(one(printed_(std::string(inner), line)), quoting, line, fields);
    return end;
  }
  if (next == '{') {
    braced(inner, line, quoting, fields);
    return end;
  }
  if (next == '\'' && quoting == Quoting::kNone) {
    fields.add(ansi_text(inner), ShellQuoting::kQuoted);
    fields.open();
    return end;
  }
  std::size_t length = shell_name_length(raw.substr(at + 1));
  if (length == 0 &&
      (ascii::is_digit(next) || std::string_view("@*#?$!-").find(next) != std::string_view::npos) &&
      next != '\0') {
    length = 1;
  }
  if (length == 0) {
    const bool prefix = next == '"' && quoting == Quoting::kNone;  // $"a" is "a"
    fields.add(prefix ? "" : "$",
               quoting == Quoting::kNone ? ShellQuoting::kNone : ShellQuoting::kQuoted);
    return at + 1;
  }
  insert(held(std::string(raw.substr(at + 1, length)), std::nullopt, line), quoting, line, fields);
  return at + 1 + length;
}

// --- values -------------------------------------------------------------------------------------

ShellText ShellExpansion::absent_text(const Held& held, int line) {
  if (held.certain) {
    return {};
  }
  ShellUnknown unknown{held.absent, held.asked, here(line), {}, {}, {}, {}, {}};
  if (held.asked == "$#") {
    unknown.guess = {ShellText("0")};
  } else if (!held.listed) {
    unknown.guess = {ShellText()};
  }
  if (held.absent == ShellUnknownKind::kUnset) {
    unknown.names.insert(held.asked.substr(0, shell_name_length(held.asked)));
  }
  return ShellText::of(run_.absent_one(std::move(unknown)));
}

void ShellExpansion::insert(const Held& held, Quoting quoting, int line, Fields& fields) {
  ShellFields values = held.values;
  if (!held.is_set) {
    const ShellText stand_in = absent_text(held, line);
    values =
        stand_in.empty() && (held.listed || held.certain) ? ShellFields{} : ShellFields{stand_in};
  }
  const bool quoted = quoting != Quoting::kNone;
  if (quoted && held.listed && !held.starred && values.empty()) {
    fields.pass_empty_list();
  }
  const std::string between = separators(state_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && quoted && (held.starred || quoting == Quoting::kDocument)) {
      fields.add(held.starred ? between.substr(0, 1) : " ", ShellQuoting::kQuoted);
    } else if (i > 0) {
      fields.end_or_blank();
    }
    run_.count(values[i].size(), here(line));
    if (quoted) {
      fields.add(values[i], ShellQuoting::kQuoted);
      if (held.listed) {
        fields.open();
      }
    } else {
      fields.split(values[i]);
    }
  }
}

ShellExpansion::Held ShellExpansion::one(ShellText text) {
  Held made;
  made.values = {std::move(text)};
  return made;
}

ShellFields ShellExpansion::status_values() {
  const ShellTruth& status = state_.status;
  ShellFields from;
  for (const auto* ids : {&status.causes, &status.absent}) {
    for (const ShellUnknownId id : *ids) {
      from.push_back(ShellText::of(id));
    }
  }
  const std::string guess = status.holds ? "0" : "1";
  return {from.empty() ? ShellText(guess) : computed(from, guess, "$?", 0)};
}

ShellExpansion::Held ShellExpansion::special(const std::string& name) {
  Held made;
  made.asked = "$" + name;
  made.absent = ShellUnknownKind::kPosition;
  if (name == "@" || name == "*" || name == "#") {
    made.listed = name != "#";
    made.starred = name == "*";
    made.is_set = state_.knows_positions;
    made.values = state_.positions;
    if (name == "#") {
      const std::string count = std::to_string(state_.positions.size());
      ShellFields from;
      for (const ShellUnknownId id : state_.position_causes) {
        from.push_back(ShellText::of(id));
      }
      made.values = {from.empty() ? ShellText(count) : computed(from, count, "$#", 0)};
    }
  } else if (name == "0") {
    made.values = {places_.script};
  } else if (ascii::is_digit(name.front())) {
    const std::size_t place = name.size() > 3 ? 1000 : std::stoul(name);
    made.asked = "$" + std::to_string(place + state_.shifted);
    made.is_set = place <= state_.positions.size();
    made.certain = !made.is_set && state_.knows_positions && state_.position_causes.empty();
    made.values = made.is_set ? ShellFields{state_.positions[place - 1]} : ShellFields{};
  } else if (name == "?") {
    made.values = status_values();
  } else {
    made.is_set = false;
    made.absent = ShellUnknownKind::kOutput;  // numbers of processes, options of the shell
  }
  return made;
}

ShellExpansion::Held ShellExpansion::held(const std::string& name,
                                          const std::optional<std::string>& subscript, int line) {
  if (shell_name_length(name) == 0) {
    return special(name);
  }
  if (const std::optional<ShellUnknownId> unknown = unknown_named(name)) {
    return one(ShellText::of(*unknown));
  }
  Held made;
  const bool all = subscript && (*subscript == "@" || *subscript == "*");
  made.asked = all ? name + "[@]" : name;
  made.listed = all;
  made.starred = all && *subscript == "*";
  const ShellValue* const value = state_.variables.find(name);
  if (value == nullptr) {
    constexpr std::string_view kOfTheShell =
        " RANDOM SECONDS LINENO UID EUID PPID HOSTNAME OSTYPE FUNCNAME EPOCHSECONDS BASHPID ";
    made.is_set = name == "BASH_SOURCE" || name == "PWD";
    made.values = name == "BASH_SOURCE" ? ShellFields{places_.source} : ShellFields{state_.folder};
    made.absent = kOfTheShell.find(" " + name + " ") == std::string_view::npos
                      ? ShellUnknownKind::kUnset
                      : ShellUnknownKind::kOutput;
    return made;
  }
  if (all && state_.variables.is_given(name)) {
    Fields words(" \t\n");  // a list can be given as one text alone
    words.split(item(*value, name, "0", line).values.front());
    made.values = words.take();
  } else if (all) {
    made.values = value->fields();
  } else {
    made = item(*value, name, subscript.value_or("0"), line);
  }
  return made;
}

ShellExpansion::Held ShellExpansion::item(const ShellValue& value, const std::string& name,
                                          const std::string& subscript, int line) {
  Held made;
  made.asked = name;
  const std::optional<std::string> key = key_of(name, subscript, line);
  if (!key) {
    made.values = {form("${" + name + "[" + subscript + "]}", line)};
    return made;
  }
  const ShellText* found = nullptr;
  if (value.shape == ShellShape::kMap) {
    const auto at = value.named.find(*key);
    found = at == value.named.end() ? nullptr : &at->second;
  } else {
    const auto at = value.items.find(std::stoll(*key));
    found = at == value.items.end() ? nullptr : &at->second;
  }
  made.is_set = found != nullptr;
  made.certain = !made.is_set;
  made.values = found == nullptr ? ShellFields{} : ShellFields{*found};
  return made;
}

std::optional<std::string> ShellExpansion::key_of(const std::string& name,
                                                  const std::string& subscript, int line) {
  const ShellValue* const value = state_.variables.find(name);
  if (value != nullptr && value->shape == ShellShape::kMap) {
    return text({subscript, line}).known();
  }
  const ShellNumber place = number(subscript, line);
  constexpr std::int64_t kMost = 1 << 20;
  if (!place.value || !place.causes.empty() || *place.value > kMost) {
    return std::nullopt;
  }
  const bool from_end = *place.value < 0;
  const std::int64_t size =
      value == nullptr || value->items.empty() ? 0 : value->items.rbegin()->first + 1;
  const std::int64_t at = from_end ? size + *place.value : *place.value;
  return at < 0 ? std::nullopt : std::optional(std::to_string(at));
}

void ShellExpansion::assign(const std::string& name, const std::string& subscript,
                            const ShellText& text, int line) {
  const ShellValue* const held = state_.variables.find(name);
  ShellValue value = held == nullptr ? ShellValue{} : *held;
  if (subscript.empty() && value.shape == ShellShape::kScalar) {
    state_.variables.set(name, ShellValue::scalar(text));
    return;
  }
  const std::optional<std::string> key = key_of(name, subscript.empty() ? "0" : subscript, line);
  if (!key) {
    state_.variables.set(name, ShellValue::scalar(form(name + "[" + subscript + "]=", line)));
    return;
  }
  if (value.shape == ShellShape::kMap) {
    value.named[*key] = text;
  } else {
    value.shape = ShellShape::kArray;
    value.items[std::stoll(*key)] = text;
  }
  state_.variables.set(name, std::move(value));
}

// --- numbers ------------------------------------------------------------------------------------

ShellNumber ShellExpansion::number(std::string_view expression, int line) {
  ShellNumber made;
  const bool nested = expression.find_first_of("$`\"'") != std::string_view::npos;
  const ShellText written =
      nested ? document({std::string(expression), line}) : ShellText(expression);
  made.causes = written.unknowns();
  std::string plain = guess_of(written);
  std::erase(plain, '"');
  ShellNumbers numbers;
  numbers.value = [&](const std::string& name, const std::string& subscript) {
    const Held found =
        held(name, subscript.empty() ? std::nullopt : std::optional(subscript), line);
    if (!found.is_set && found.certain) {
      return std::string{};
    }
    const ShellText text =
        found.is_set && !found.values.empty() ? found.values.front() : absent_text(found, line);
    for (const ShellUnknownId id : text.unknowns()) {
      made.causes.push_back(id);
    }
    return guess_of(text);
  };
  numbers.set = [&](const std::string& name, const std::string& subscript, std::int64_t value) {
    assign(name, subscript, text_of({value, made.causes}, expression, line), line);
  };
  made.value = shell_arithmetic(plain, numbers);
  return made;
}

ShellText ShellExpansion::text_of(const ShellNumber& number, std::string_view expression,
                                  int line) {
  const std::string guess = number.value ? std::to_string(*number.value) : std::string{};
  if (number.causes.empty()) {
    return number.value ? ShellText(guess)
                        : form("$((" + std::string(expression) + "))", line, guess);
  }
  ShellFields from;
  for (const ShellUnknownId id : number.causes) {
    from.push_back(ShellText::of(id));
  }
  return computed(from, guess, "$((" + std::string(expression) + "))", line);
}

}  // namespace stepcast
