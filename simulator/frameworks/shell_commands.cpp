// SPDX-License-Identifier: Apache-2.0
// Simple commands: assignments, declarations, redirections, and who runs what the words say.
#include <algorithm>
#include <array>
#include <utility>

#include "frameworks/shell_runner.hpp"
#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// Whether KEY=VALUE behind a script can be this variable.
bool can_be_given(const std::string& name) {
  return std::none_of(name.begin(), name.end(), ascii::is_lower);
}

ShellText without_last_lines(const ShellText& text) {
  ShellText made;
  std::size_t keep = text.pieces().size();
  std::string tail;
  while (keep > 0 && !text.pieces()[keep - 1].unknown) {
    tail = text.pieces()[keep - 1].text;
    tail.erase(tail.find_last_not_of('\n') + 1);
    --keep;
    if (!tail.empty()) {
      break;
    }
  }
  for (std::size_t i = 0; i < keep; ++i) {
    const ShellPiece& piece = text.pieces()[i];
    if (piece.unknown) {
      made.add(*piece.unknown, piece.quoting);
    } else {
      made.add(piece.text, piece.quoting);
    }
  }
  made.add(tail, ShellQuoting::kQuoted);
  return made;
}

}  // namespace

ShellText ShellRunner::unknown(ShellUnknownKind kind, const std::string& what) {
  ShellUnknown made{kind, what.substr(0, 80), here(), {ShellText()}, {}, {}, {}, {}};
  return ShellText::of(run_.unknowns.add(std::move(made)));
}

void ShellRunner::print(const ShellText& text) {
  if (state_.is_captured) {
    state_.printed.add(text, ShellQuoting::kQuoted);
  }
}

ShellText ShellRunner::printed_by(const std::string& command, int line) {
  const ShellText printed = std::exchange(state_.printed, ShellText());
  const bool captured = std::exchange(state_.is_captured, true);
  const int outer_line = std::exchange(line_, line);
  const std::optional<ShellText> input = std::exchange(input_, std::nullopt);
  in_subshell([&] { run(command, line); });
  input_ = input;
  line_ = outer_line;
  state_.is_captured = captured;
  return without_last_lines(std::exchange(state_.printed, printed));
}

// --- assignments --------------------------------------------------------------------------------

void ShellRunner::assign(const ShellAssignment& assignment) {
  if (assignment.array) {
    assign_list(assignment);
    return;
  }
  ShellText text = expansion_.text(assignment.words.front());
  const ShellValue* const held = state_.variables.find(assignment.name);
  if (assignment.appends && held != nullptr) {
    const ShellFields before = expansion_.fields(ShellRawWord{
        "\"${" + assignment.name +
            (assignment.subscript.empty() ? "" : "[" + assignment.subscript + "]") + "-}\"",
        assignment.line});
    ShellText both = before.empty() ? ShellText() : before.front();
    both.add(text, ShellQuoting::kQuoted);
    text = std::move(both);
  }
  if (const auto sole = text.sole_unknown(); sole && can_be_given(assignment.name)) {
    run_.unknowns.name(*sole, assignment.name);
  }
  expansion_.assign(assignment.name, assignment.subscript, text, assignment.line);
  if (state_.exports_all) {
    state_.variables.export_name(assignment.name);
  }
}

// NAME=(a b), NAME+=(c), NAME=([key]=d)
void ShellRunner::assign_list(const ShellAssignment& assignment) {
  const ShellValue* const held = state_.variables.find(assignment.name);
  ShellValue value = held == nullptr ? ShellValue{} : *held;
  const ShellShape shape = value.shape == ShellShape::kMap ? ShellShape::kMap : ShellShape::kArray;
  if (!assignment.appends) {
    value = {};
  }
  value.shape = shape;
  std::int64_t next = value.items.empty() ? 0 : value.items.rbegin()->first + 1;
  for (const ShellRawWord& word : assignment.words) {
    const std::size_t close = word.text.find("]=");
    if (word.text.starts_with('[') && close != std::string::npos) {
      const std::string written = word.text.substr(1, close - 1);
      const ShellText text = expansion_.text({word.text.substr(close + 2), word.line});
      const std::optional<std::string> key = shape == ShellShape::kMap
                                                 ? expansion_.text({written, word.line}).known()
                                                 : expansion_.key_of({}, written, word.line);
      if (!key) {
        state_.variables.set(assignment.name,
                             ShellValue::scalar(expansion_.form(word.text, word.line)));
        return;
      }
      if (shape == ShellShape::kMap) {
        value.named[*key] = text;
      } else {
        next = std::stoll(*key);
        value.items[next++] = text;
      }
      continue;
    }
    for (ShellText& field : expansion_.items(expansion_.fields(word), word.line)) {
      value.items[next++] = std::move(field);
    }
  }
  state_.variables.set(assignment.name, std::move(value));
}

void ShellRunner::with_assignments(const std::vector<ShellAssignment>& assignments,
                                   const Branch& body) {
  if (assignments.empty()) {
    body();
    return;
  }
  const ShellVariables before = state_.variables;
  for (const ShellAssignment& assignment : assignments) {
    assign(assignment);
    state_.variables.export_name(assignment.name);
  }
  body();
  for (const ShellAssignment& assignment : assignments) {
    const ShellValue* const held = before.find(assignment.name);
    if (held == nullptr) {
      state_.variables.erase(assignment.name);
    } else {
      state_.variables.set(assignment.name, *held);
    }
  }
}

void ShellRunner::declare_one(const std::string& name, std::string_view keyword,
                              std::string_view options, const ShellAssignment* assignment) {
  const bool local = keyword == "local" || ((keyword == "declare" || keyword == "typeset") &&
                                            options.find('g') == std::string_view::npos);
  if (local) {
    state_.variables.make_local(name);
  }
  if (options.find_first_of("aA") != std::string_view::npos) {
    const ShellValue* const held = state_.variables.find(name);
    ShellValue value = held == nullptr ? ShellValue{} : *held;
    value.shape =
        options.find('A') != std::string_view::npos ? ShellShape::kMap : ShellShape::kArray;
    state_.variables.set(name, std::move(value));
  }
  if (assignment != nullptr) {
    assign(*assignment);
  }
  const bool exports = (keyword == "export" && options.find('n') == std::string_view::npos) ||
                       options.find('x') != std::string_view::npos;
  if (exports) {
    state_.variables.export_name(name);
  }
  constexpr std::string_view kChanging = "ilun";  // integers, letters' case, references
  if (keyword != "export" && options.find_first_of(kChanging) != std::string_view::npos) {
    const ShellValue* const held = state_.variables.find(name);
    const bool number = options.find('i') != std::string_view::npos && held != nullptr &&
                        held->shape == ShellShape::kScalar && !held->items.empty();
    if (number) {
      const std::string written = expansion_.guess_of(held->items.begin()->second);
      const ShellNumber made = expansion_.number(written, line_);
      state_.variables.set(name, ShellValue::scalar(expansion_.text_of(made, written, line_)));
    } else if (held != nullptr) {
      set_unknown(name, "declare -" + std::string(options) + " " + name);
    }
  }
}

void ShellRunner::declare(const ShellFields& words, const ShellSimple& simple) {
  const std::string keyword = words.front().known().value_or("");
  std::string options;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i].known().value_or("");
    if (word.starts_with('-')) {
      options += word.substr(1);
    } else if (!word.starts_with('+')) {
      names.push_back(word);
    }
  }
  for (const auto& [place, assignment] : simple.declared) {
    declare_one(assignment.name, keyword, options, &assignment);
  }
  for (const std::string& name : names) {
    const std::size_t sign = name.find('=');  // of a word that an expansion made
    const std::string own = name.substr(0, sign);
    if (own.empty() || shell_name_length(own) != own.size()) {
      continue;
    }
    declare_one(own, keyword, options, nullptr);
    if (sign != std::string::npos) {
      expansion_.assign(own, {}, ShellText(name.substr(sign + 1)), line_);
    }
  }
  set_status({true});
}

// --- commands -----------------------------------------------------------------------------------

void ShellRunner::run(const ShellSimple& simple) {
  const int line = line_;
  if (simple.words.empty()) {
    set_status({true});
    for (const ShellAssignment& assignment : simple.assignments) {
      assign(assignment);
    }
    line_ = line;
    return;
  }
  ShellFields words;
  std::vector<Location> places;
  for (const ShellRawWord& word : simple.words) {
    for (ShellText& field : expansion_.fields(word)) {
      words.push_back(std::move(field));
      places.push_back({places_.file, word.line, 0});
    }
  }
  line_ = line;
  execute(std::move(words), std::move(places), simple);
}

void ShellRunner::execute(ShellFields words, std::vector<Location> places,
                          const ShellSimple& simple) {
  while (!words.empty() && run_.unknowns.words_of({words.front()}).empty()) {
    words.erase(words.begin());
    places.erase(places.begin());
  }
  if (words.empty()) {
    set_status({true});
    return;
  }
  const std::string name = words.front().known().value_or("");
  if (declares_variables(name)) {
    declare(words, simple);
    return;
  }
  const auto called = state_.functions.find(name);
  if (called != state_.functions.end()) {
    const ShellCallable function = called->second;
    with_assignments(simple.assignments,
                     [&] { call(function, ShellFields(words.begin() + 1, words.end())); });
    return;
  }
  if (const Builtin builtin = builtin_of(name)) {
    with_assignments(simple.assignments, [&] { (this->*builtin)(words); });
    return;
  }
  if (name == "command" || name == "exec" || name == "builtin" || name == "nohup") {
    const bool asks = words.size() > 1 && words[1].known().value_or("").starts_with('-');
    if (!asks) {
      execute(ShellFields(words.begin() + 1, words.end()),
              std::vector<Location>(places.begin() + 1, places.end()), simple);
      return;
    }
  }
  start(words, places, simple);
}

void ShellRunner::call(const ShellCallable& function, ShellFields arguments) {
  std::vector<ShellUnknownId> causes;
  arguments = expansion_.arguments(arguments, causes, line_);
  std::swap(causes, state_.position_causes);
  const ShellFields positions = std::exchange(state_.positions, std::move(arguments));
  const bool known = std::exchange(state_.knows_positions, true);
  const std::size_t shifted = std::exchange(state_.shifted, 0);
  const std::string file = std::exchange(places_.file, function.file);
  const int line = line_;
  state_.variables.enter_function();
  in_frame([&] { run(*function.body); });
  state_.variables.leave_function();
  flow_ = flow_ == Flow::kExit ? flow_ : Flow::kNext;
  places_.file = file;
  line_ = line;
  state_.positions = positions;
  state_.position_causes = causes;
  state_.knows_positions = known;
  state_.shifted = shifted;
}

// --- redirections -------------------------------------------------------------------------------

void ShellRunner::read_input(const ShellRedirection& redirection) {
  if (redirection.sign == "<<") {
    input_ = redirection.literal ? ShellExpansion::literal_text(redirection.target.text)
                                 : expansion_.document(redirection.target);
  } else if (redirection.sign == "<<<") {
    input_ = expansion_.text(redirection.target);
    input_->add("\n", ShellQuoting::kQuoted);
  } else if (redirection.sign == "<") {
    const ShellText path = expansion_.text(redirection.target);
    const std::optional<std::string> text = text_of_script(expansion_.guess_of(path));
    input_ = text ? ShellText(*text)
                  : unknown(ShellUnknownKind::kOutput, "what is in " + expansion_.guess_of(path));
  }
}

void ShellRunner::with_redirections(const std::vector<ShellRedirection>& redirections,
                                    const Branch& body) {
  const std::optional<ShellText> input = input_;
  std::optional<std::string> file;
  bool appends = false;
  bool away = false;
  for (const ShellRedirection& redirection : redirections) {
    const std::string& sign = redirection.sign;
    if (redirection.stream == 0) {
      read_input(redirection);
    } else if ((redirection.stream == 1 || sign.starts_with('&')) && sign != ">&") {
      file = expansion_.guess_of(expansion_.text(redirection.target));
      appends = sign.ends_with(">>");
    } else if (redirection.stream == 1) {
      away = redirection.target.text == "2";
    }
  }
  if (!file && !away) {
    body();
    input_ = input;
    return;
  }
  const ShellText printed = std::exchange(state_.printed, ShellText());
  const bool captured = std::exchange(state_.is_captured, true);
  body();
  const ShellText made = std::exchange(state_.printed, printed);
  state_.is_captured = captured;
  input_ = input;
  if (file && *file != "/dev/null" && *file != "/dev/stderr") {
    ShellText& whole = state_.written[*file];
    whole = appends ? whole : ShellText();
    whole.add(made, ShellQuoting::kQuoted);
  }
}

}  // namespace stepcast
