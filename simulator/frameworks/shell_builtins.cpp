// SPDX-License-Identifier: Apache-2.0
// The commands that bash itself is, as far as they change what a script does later.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "frameworks/setting.hpp"
#include "frameworks/shell_output.hpp"
#include "frameworks/shell_runner.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

// Change nothing that a launch script goes by.
constexpr std::string_view kIdleBuiltins =
    ": true alias bind builtin hash history shopt trap ulimit umask wait sleep popd";

std::string word_at(const ShellFields& words, std::size_t place) {
  return place < words.size() ? words[place].known().value_or("") : std::string{};
}

bool is_absolute(const ShellText& path, const ShellUnknowns& unknowns) {
  const ShellPiece& first = path.pieces().front();
  return first.unknown ? unknowns[*first.unknown].kind != ShellUnknownKind::kChoice
                       : first.text.starts_with('/');
}

}  // namespace

ShellRunner::Builtin ShellRunner::builtin_of(const std::string& name) {
  struct Row {
    std::string_view name;
    Builtin run;
  };
  static constexpr auto kBuiltins = std::to_array<Row>({
      {"false", &ShellRunner::fail_only},
      {"cd", &ShellRunner::change_folder},
      {"pushd", &ShellRunner::change_folder},
      {"pwd", &ShellRunner::print_folder},
      {"realpath", &ShellRunner::resolve_path},
      {"readlink", &ShellRunner::resolve_path},
      {"cat", &ShellRunner::show_file},
      {"tee", &ShellRunner::show_file},
      {"eval", &ShellRunner::evaluate},
      {"source", &ShellRunner::source},
      {".", &ShellRunner::source},
      {"exit", &ShellRunner::end_script},
      {"return", &ShellRunner::leave_function},
      {"break", &ShellRunner::leave_loop},
      {"continue", &ShellRunner::leave_loop},
      {"set", &ShellRunner::set_options},
      {"shift", &ShellRunner::shift},
      {"unset", &ShellRunner::unset},
      {"test", &ShellRunner::test},
      {"[", &ShellRunner::test},
      {"let", &ShellRunner::let},
      {"printf", &ShellRunner::print_formatted},
      {"read", &ShellRunner::read},
      {"mapfile", &ShellRunner::read_lines},
      {"readarray", &ShellRunner::read_lines},
      {"getopts", &ShellRunner::next_option},
  });
  if (is_among(kIdleBuiltins, name)) {
    return &ShellRunner::do_nothing;
  }
  const auto* const found = std::find_if(kBuiltins.begin(), kBuiltins.end(),
                                         [&](const Row& row) { return row.name == name; });
  return found == kBuiltins.end() ? nullptr : found->run;
}

void ShellRunner::do_nothing(const ShellFields& /*words*/) { set_status({true}); }

void ShellRunner::fail_only(const ShellFields& /*words*/) { set_status({false}); }

void ShellRunner::set_unknown(const std::string& name, const std::string& what) {
  ShellText text = unknown(ShellUnknownKind::kOutput, what);
  if (std::none_of(name.begin(), name.end(), ascii::is_lower)) {
    run_.unknowns.name(*text.sole_unknown(), name);
  }
  state_.variables.set(name, ShellValue::scalar(std::move(text)));
}

// --- folders and files --------------------------------------------------------------------------

void ShellRunner::change_folder(const ShellFields& words) {
  const std::size_t place = word_at(words, 1) == "--" || word_at(words, 1) == "-P" ? 2 : 1;
  set_status({true});
  if (place >= words.size() || words[place].empty() || word_at(words, place) == ".") {
    return;
  }
  const ShellText& to = words[place];
  if (is_absolute(to, run_.unknowns)) {
    state_.folder = to;
  } else {
    state_.folder.add("/", ShellQuoting::kQuoted);
    state_.folder.add(to, ShellQuoting::kQuoted);
  }
}

void ShellRunner::print_folder(const ShellFields& /*words*/) {
  print(state_.folder);
  print(ShellText("\n"));
  set_status({true});
}

void ShellRunner::resolve_path(const ShellFields& words) {
  set_status({true});
  if (words.size() < 2 || words.back().empty()) {
    print(unknown(ShellUnknownKind::kOutput, "realpath"));
    return;
  }
  if (!is_absolute(words.back(), run_.unknowns)) {
    print(state_.folder);
    print(ShellText("/"));
  }
  print(words.back());
  print(ShellText("\n"));
}

// cat and tee: what they read goes on, and cat's files as far as they are there.
void ShellRunner::show_file(const ShellFields& words) {
  set_status({true});
  const bool tee = word_at(words, 0) == "tee";
  const bool reads = tee || words.size() < 2 || word_at(words, 1) == "-";
  if (reads) {
    const ShellText text = input_ ? *input_ : unknown(ShellUnknownKind::kOutput, "cat");
    print(text);
    for (std::size_t i = 1; tee && i < words.size(); ++i) {
      state_.written[expansion_.guess_of(words[i])] = text;
    }
    return;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string path = expansion_.guess_of(words[i]);
    const std::optional<std::string> text = text_of_script(path);
    print(text ? ShellText(*text) : unknown(ShellUnknownKind::kOutput, "cat " + path));
  }
}

// --- texts and scripts --------------------------------------------------------------------------

void ShellRunner::evaluate(const ShellFields& words) {
  ShellText text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    text.add(i > 1 ? " " : "", ShellQuoting::kQuoted);
    text.add(words[i], ShellQuoting::kQuoted);
  }
  set_status({true});
  run(ShellExpansion::script_of(text), line_);
}

void ShellRunner::source(const ShellFields& words) {
  if (words.size() < 2) {
    return;
  }
  const std::string path = expansion_.guess_of(words[1]);
  const std::optional<std::string> text = text_of_script(path);
  if (!text) {
    script_.missing.push_back({path, here()});
    state_.status.causes = unknown(ShellUnknownKind::kSource, path).unknowns();
    state_.status.holds = true;
    return;
  }
  const ShellText outer_source = std::exchange(places_.source, words[1]);
  const std::string outer_file = std::exchange(places_.file, path);
  const int line = line_;
  const bool has_arguments = words.size() > 2;
  const ShellFields positions = state_.positions;
  const bool known = state_.knows_positions;
  if (has_arguments) {
    state_.positions.assign(words.begin() + 2, words.end());
    state_.knows_positions = true;
  }
  in_frame([&] { run(*text, 1); });
  flow_ = flow_ == Flow::kReturn ? Flow::kNext : flow_;
  if (has_arguments) {
    state_.positions = positions;
    state_.knows_positions = known;
  }
  places_.source = outer_source;
  places_.file = outer_file;
  line_ = line;
}

// --- flow ---------------------------------------------------------------------------------------

void ShellRunner::end_script(const ShellFields& words) {
  flow_ = Flow::kExit;
  if (doubts_.empty() && !script_.stopped) {
    script_.stopped = here();
  }
  set_status({words.size() < 2 || word_at(words, 1) == "0"});
}

void ShellRunner::leave_function(const ShellFields& words) {
  flow_ = Flow::kReturn;
  if (words.size() > 1) {
    const ShellNumber number = expansion_.number(expansion_.guess_of(words[1]), line_);
    state_.status = {number.value.value_or(1) == 0, words[1].unknowns(), {}};
  }
}

void ShellRunner::leave_loop(const ShellFields& words) {
  flow_ = word_at(words, 0) == "break" ? Flow::kBreak : Flow::kContinue;
  levels_ = static_cast<int>(
      std::clamp<std::int64_t>(whole_number_in(word_at(words, 1)).value_or(1), 1, 100));
  set_status({true});
}

void ShellRunner::set_options(const ShellFields& words) {
  set_status({true});
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = word_at(words, i);
    if (word == "--" || (!word.starts_with('-') && !word.starts_with('+'))) {
      const auto first = words.begin() + static_cast<std::ptrdiff_t>(word == "--" ? i + 1 : i);
      state_.position_causes.clear();
      state_.positions =
          expansion_.arguments(ShellFields(first, words.end()), state_.position_causes, line_);
      state_.knows_positions = true;
      state_.shifted = 0;
      return;
    }
    const std::string name = word == "-o" || word == "+o" ? word_at(words, i + 1) : std::string{};
    const bool on = word.starts_with('-');
    if (word.find('e') != std::string::npos || name == "errexit") {
      state_.ends_on_failure = on;
    }
    if (word.find('a') != std::string::npos || name == "allexport") {
      state_.exports_all = on;
    }
    i += word.find('o') != std::string::npos ? 1 : 0;
  }
}

void ShellRunner::shift(const ShellFields& words) {
  const auto count = static_cast<std::size_t>(
      std::clamp<std::int64_t>(whole_number_in(word_at(words, 1)).value_or(1), 0, 1000));
  set_status({!state_.knows_positions || count <= state_.positions.size()});
  if (state_.status.holds) {
    const std::size_t gone = std::min(count, state_.positions.size());
    state_.positions.erase(state_.positions.begin(),
                           state_.positions.begin() + static_cast<std::ptrdiff_t>(gone));
    state_.shifted += count;
  }
}

void ShellRunner::unset(const ShellFields& words) {
  set_status({true});
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = word_at(words, i);
    const std::size_t length = shell_name_length(name);
    if (name == "-f") {
      return;
    }
    if (length > 0 && length < name.size() && name.ends_with(']')) {
      const ShellValue* const held = state_.variables.find(name.substr(0, length));
      ShellValue value = held == nullptr ? ShellValue{} : *held;
      const auto key = expansion_.key_of(name.substr(0, length),
                                         name.substr(length + 1, name.size() - length - 2), line_);
      value.named.erase(key.value_or(""));
      value.items.erase(whole_number_in(key.value_or("")).value_or(-1));
      state_.variables.set(name.substr(0, length), std::move(value));
    } else if (length == name.size() && length > 0) {
      state_.variables.erase(name);
    }
  }
}

// --- conditions and numbers ---------------------------------------------------------------------

void ShellRunner::test(const ShellFields& words) {
  ShellFields inner(words.begin() + 1, words.end());
  if (word_at(words, 0) == "[" && !inner.empty() && inner.back().known() == "]") {
    inner.pop_back();
  }
  state_.status = conditions().of_words(inner);
}

void ShellRunner::let(const ShellFields& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    set_from_number(expansion_.number(ShellExpansion::script_of(words[i]), line_));
  }
}

// --- input and output ---------------------------------------------------------------------------

void ShellRunner::print_formatted(const ShellFields& words) {
  set_status({true});
  const bool assigns = word_at(words, 1) == "-v" && words.size() > 3;
  ShellFields shown = words;
  if (assigns) {
    shown.erase(shown.begin() + 1, shown.begin() + 3);
  }
  ShellText text =
      shell_output(shown, input_, expansion_, line_)
          .value_or(unknown(ShellUnknownKind::kOutput,
                            "printf " + expansion_.guess_of(shown[shown.size() > 1 ? 1 : 0])));
  if (!assigns) {
    print(text);
    return;
  }
  const std::string place = word_at(words, 2);
  const std::size_t length = shell_name_length(place);
  const std::string subscript = length < place.size() && place.ends_with(']')
                                    ? place.substr(length + 1, place.size() - length - 2)
                                    : std::string{};
  if (length > 0) {
    expansion_.assign(place.substr(0, length), subscript, text, line_);
  }
}

namespace {

// What read fills: variables, or a list of its own, from a line or from all there is.
struct ReadTargets {
  std::vector<std::string> names;
  std::string list;
  bool whole = false;
};

ReadTargets read_targets(const ShellFields& words) {
  constexpr std::string_view kWithValue = "adinNptu";
  ReadTargets targets;
  auto& [names, list, whole] = targets;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = word_at(words, i);
    if (!word.starts_with('-') || word.size() < 2) {
      names.push_back(word);
      continue;
    }
    if (kWithValue.find(word.back()) != std::string_view::npos) {
      ++i;
      list = word.back() == 'a' ? word_at(words, i) : list;
      whole = whole || (word.back() == 'd' && word_at(words, i).empty());
    }
  }
  if (!list.empty()) {
    names = {list};
  } else if (names.empty()) {
    names = {"REPLY"};
  }
  return targets;
}

}  // namespace

void ShellRunner::read(const ShellFields& words) {
  const auto [names, list, whole] = read_targets(words);
  const std::optional<std::string> text = input_ ? input_->known() : std::nullopt;
  if (!text) {
    for (const std::string& name : names) {
      set_unknown(name, "what read gets");
    }
    state_.status.causes = unknown(ShellUnknownKind::kStatus, "read").unknowns();
    return;
  }
  const std::size_t end = whole ? text->size() : std::min(text->find('\n'), text->size());
  set_status({!whole && end < text->size()});
  input_ = ShellText(text->substr(std::min(end + 1, text->size())));
  // The rest of a line is the last variable's.
  state_.variables.set("__line", ShellValue::scalar(ShellText(text->substr(0, end))));
  ShellFields parts = expansion_.fields(ShellRawWord{"$__line", line_});
  state_.variables.erase("__line");
  if (!list.empty()) {
    state_.variables.set(list, ShellValue::array(parts));
    return;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    ShellText value = i < parts.size() ? parts[i] : ShellText();
    if (i + 1 == names.size() && i + 1 < parts.size()) {
      const std::string rest = text->substr(0, end);
      value = i == 0 ? ShellText(rest) : expansion_.form("read of several names", line_);
    }
    state_.variables.set(names[i], ShellValue::scalar(std::move(value)));
  }
}

void ShellRunner::read_lines(const ShellFields& words) {
  const std::string name = word_at(words, words.size() - 1);
  const std::optional<std::string> text = input_ ? input_->known() : std::nullopt;
  set_status({true});
  if (!text || words.size() < 2 || name.starts_with('-') || word_at(words, 1) != "-t") {
    set_unknown(name.empty() || name.starts_with('-') ? "MAPFILE" : name, "what mapfile gets");
    return;
  }
  ShellFields lines;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    lines.emplace_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  state_.variables.set(name, ShellValue::array(lines));
}

// getopts: where nobody gives arguments there are no options.
void ShellRunner::next_option(const ShellFields& words) {
  if (!state_.knows_positions) {
    ShellUnknown all{ShellUnknownKind::kPosition, "$@", here(), {}, {}, {}, {}, {}};
    state_.status = {false, {}, {run_.absent_one(std::move(all))}};
    return;
  }
  if (state_.positions.empty()) {
    set_status({false});
    return;
  }
  for (const std::string& name : {word_at(words, 2), std::string("OPTARG")}) {
    if (!name.empty()) {
      set_unknown(name, "getopts");
    }
  }
  state_.status.causes = unknown(ShellUnknownKind::kForm, "getopts").unknowns();
}

}  // namespace stepcast
