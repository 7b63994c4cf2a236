// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_output.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "frameworks/shell_arithmetic.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/config/scalar.hpp"

namespace stepcast {
namespace {

using Words = std::vector<std::string>;  // arguments, without the name
using Made = std::optional<std::string>;

std::string with_escapes(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const std::size_t known = std::string_view("nt\\r").find(next);
    if (text[i] == '\\' && next != '\0' && known != std::string_view::npos) {
      made += std::string_view("\n\t\\\r")[known];
      ++i;
    } else {
      made += text[i];
    }
  }
  return made;
}

// --- texts that may be unknown ------------------------------------------------------------------

ShellText echoed(const ShellFields& words) {
  std::size_t first = 1;
  bool newline = true;
  bool escapes = false;
  for (; first < words.size(); ++first) {
    const std::string option = words[first].known().value_or("");
    const bool is_option = option.size() > 1 && option.front() == '-' &&
                           option.find_first_not_of("neE", 1) == std::string::npos;
    if (!is_option) {
      break;
    }
    newline = newline && option.find('n') == std::string::npos;
    escapes = option.find('e') != std::string::npos;
  }
  ShellText made;
  for (std::size_t i = first; i < words.size(); ++i) {
    made.add(i == first ? "" : " ", ShellQuoting::kQuoted);
    for (const ShellPiece& piece : words[i].pieces()) {
      if (piece.unknown) {
        made.add(*piece.unknown, ShellQuoting::kQuoted);
      } else {
        made.add(escapes ? with_escapes(piece.text) : piece.text, ShellQuoting::kQuoted);
      }
    }
  }
  made.add(newline ? "\n" : "", ShellQuoting::kQuoted);
  return made;
}

// Of "%s" and "%d" without a width, and of "%%".
std::optional<ShellText> formatted(const ShellFields& words) {
  const std::optional<std::string> format =
      words.size() > 1 ? words[1].known() : std::optional<std::string>{};
  if (!format) {
    return std::nullopt;
  }
  const std::string text = with_escapes(*format);
  ShellText made;
  std::size_t next = 2;
  bool again = true;
  while (again) {
    const std::size_t before = next;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        made.add(std::string_view(&text[i], 1), ShellQuoting::kQuoted);
        continue;
      }
      const char kind = i + 1 < text.size() ? text[++i] : '\0';
      if (kind == 's' || kind == 'd') {
        const ShellText empty(kind == 'd' ? "0" : "");
        made.add(next < words.size() ? words[next] : empty, ShellQuoting::kQuoted);
        ++next;
      } else if (kind == '%') {
        made.add("%", ShellQuoting::kQuoted);
      } else {
        return std::nullopt;
      }
    }
    again = next > before && next < words.size();
  }
  return made;
}

// A path of which the end is known, cut at its last slash.
std::optional<ShellText> path_part(const ShellText& path, bool folder) {
  if (path.empty()) {
    return ShellText(folder ? "." : "");
  }
  std::string tail = path.pieces().back().text;
  const bool alone = path.pieces().size() == 1;
  while (tail.size() > 1 && tail.ends_with('/')) {
    tail.pop_back();
  }
  const std::size_t slash = tail.rfind('/');
  if (path.pieces().back().unknown || (slash == std::string::npos && !alone)) {
    return std::nullopt;
  }
  if (!folder) {
    return ShellText(slash == std::string::npos || tail.size() == 1 ? tail
                                                                    : tail.substr(slash + 1));
  }
  if (alone && slash == std::string::npos) {
    return ShellText(".");
  }
  ShellText made;
  for (std::size_t i = 0; i + 1 < path.pieces().size(); ++i) {
    const ShellPiece& piece = path.pieces()[i];
    if (piece.unknown) {
      made.add(*piece.unknown, ShellQuoting::kQuoted);
    } else {
      made.add(piece.text, ShellQuoting::kQuoted);
    }
  }
  made.add(alone && slash == 0 ? "/" : tail.substr(0, slash), ShellQuoting::kQuoted);
  return made;
}

std::optional<ShellText> path_output(const ShellFields& words, bool folder) {
  const std::size_t first = words.size() > 1 && words[1].known() == "--" ? 2 : 1;
  if (words.size() <= first || words.size() > first + 2) {
    return std::nullopt;
  }
  std::optional<ShellText> made = path_part(words[first], folder);
  if (made && words.size() == first + 2) {
    const auto name = made->known();
    const auto suffix = words[first + 1].known();
    if (folder || !name || !suffix) {
      return std::nullopt;
    }
    const bool ends = name->ends_with(*suffix) && name->size() > suffix->size();
    made = ShellText(ends ? name->substr(0, name->size() - suffix->size()) : *name);
  }
  if (made) {
    made->add("\n", ShellQuoting::kQuoted);
  }
  return made;
}

// --- texts that must be known -------------------------------------------------------------------

Made number_sequence(const Words& words, const std::string& /*input*/) {
  std::string between = "\n";
  Words numbers;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-s" && i + 1 < words.size()) {
      between = words[++i];
    } else {
      numbers.push_back(words[i]);
    }
  }
  constexpr std::int64_t kMost = 4096;
  const auto at = [&](std::size_t i) { return whole_number_in(numbers[i]); };
  if (numbers.empty() || numbers.size() > 3 ||
      !std::all_of(numbers.begin(), numbers.end(),
                   [](const std::string& text) { return whole_number_in(text).has_value(); })) {
    return std::nullopt;
  }
  const std::int64_t from = numbers.size() > 1 ? *at(0) : 1;
  const std::int64_t step = numbers.size() > 2 ? *at(1) : 1;
  const std::int64_t to = *at(numbers.size() - 1);
  if (step == 0 || std::abs(from) > (1 << 30) || std::abs(to) > (1 << 30) ||
      std::abs(step) > (1 << 30) || (to - from) / step > kMost) {
    return std::nullopt;
  }
  std::string made;
  for (std::int64_t i = from; step > 0 ? i <= to : i >= to; i += step) {
    made += (made.empty() ? "" : between) + std::to_string(i);
  }
  return made.empty() ? made : made + "\n";
}

Made computed_words(const Words& words, const std::string& /*input*/) {
  std::string text;
  for (const std::string& word : words) {
    const bool allowed =
        whole_number_in(word) ||
        (word.size() == 1 && std::string_view("+-*/%()").find(word) != std::string_view::npos);
    if (!allowed) {
      return std::nullopt;
    }
    text += word + " ";
  }
  const auto value = shell_arithmetic(text, {[](const auto&, const auto&) { return std::string{}; },
                                             [](const auto&, const auto&, std::int64_t) {}});
  return value && !words.empty() ? std::optional(std::to_string(*value) + "\n") : std::nullopt;
}

// "A-Z", "[:upper:]", "abc" as letters.
std::string letters_of(std::string set) {
  if (set == "[:upper:]") {
    set = "A-Z";
  } else if (set == "[:lower:]") {
    set = "a-z";
  } else if (set == "[:space:]") {
    return " \t\n\r";
  }
  set = with_escapes(set);
  std::string letters;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool range = i + 2 < set.size() && set[i + 1] == '-' && set[i] < set[i + 2];
    for (char c = set[i]; range && c < set[i + 2]; ++c) {
      letters += c;
    }
    i += range ? 2 : 0;
    letters += set[i];
  }
  return letters;
}

Made translated(const Words& words, const std::string& input) {
  const bool deletes = words.size() == 2 && words[0] == "-d";
  if (words.size() != 2 || (words[0].starts_with('-') && !deletes)) {
    return std::nullopt;
  }
  const std::string from = letters_of(words[deletes ? 1 : 0]);
  const std::string to = deletes ? std::string{} : letters_of(words[1]);
  if (!deletes && to.empty()) {
    return std::nullopt;
  }
  std::string made;
  for (const char c : input) {
    const std::size_t place = from.rfind(c);
    if (place == std::string::npos) {
      made += c;
    } else if (!deletes) {
      made += to[std::min(place, to.size() - 1)];
    }
  }
  return made;
}

// "-d X -f N", of each line.
Made field_cut(const Words& words, const std::string& input) {
  char between = '\t';
  std::optional<std::int64_t> wanted;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool apart = words[i].size() == 2 && i + 1 < words.size();
    const std::string value =
        apart ? words[i + 1] : words[i].substr(std::min<std::size_t>(2, words[i].size()));
    if (words[i].starts_with("-d") && value.size() == 1) {
      between = value.front();
    } else if (words[i].starts_with("-f")) {
      wanted = whole_number_in(value);
    } else {
      return std::nullopt;
    }
    i += apart ? 1 : 0;
  }
  if (!wanted || *wanted < 1) {
    return std::nullopt;
  }
  std::string made;
  std::istringstream lines(input);
  for (std::string line; std::getline(lines, line);) {
    std::string kept = line;
    if (line.find(between) != std::string::npos) {
      std::istringstream parts(line);
      kept.clear();
      for (std::int64_t i = 0; i < *wanted && std::getline(parts, kept, between); ++i) {
        kept = i + 1 < *wanted ? std::string{} : kept;
      }
    }
    made += kept + "\n";
  }
  return made;
}

Made word_count(const Words& words, const std::string& input) {
  if (words.size() != 1 || (words[0] != "-w" && words[0] != "-l")) {
    return std::nullopt;
  }
  std::int64_t lines = 0;
  std::int64_t count = 0;
  bool inside = false;
  for (const char c : input) {
    lines += c == '\n' ? 1 : 0;
    count += !ascii::is_space(c) && !inside ? 1 : 0;
    inside = !ascii::is_space(c);
  }
  return std::to_string(words[0] == "-w" ? count : lines) + "\n";
}

struct Printing {
  std::string_view name;
  Made (*print)(const Words& words, const std::string& input);
  bool reads = false;
};
constexpr auto kPrinting = std::to_array<Printing>({
    {"seq", number_sequence},
    {"expr", computed_words},
    {"tr", translated, true},
    {"cut", field_cut, true},
    {"wc", word_count, true},
});

// Of known words and a known input, or of their guesses, from which the output follows.
std::optional<ShellText> plain_output(const Printing& row, const ShellFields& words,
                                      const std::optional<ShellText>& input,
                                      ShellExpansion& expansion, int line) {
  if (row.reads && !input) {
    return std::nullopt;
  }
  ShellFields from = words;
  from.push_back(input.value_or(ShellText()));
  Words plain;
  for (std::size_t i = 1; i < words.size(); ++i) {
    plain.push_back(expansion.guess_of(words[i]));
  }
  const Made made = row.print(plain, expansion.guess_of(from.back()));
  const bool known =
      std::all_of(from.begin(), from.end(), [](const ShellText& text) { return text.known(); });
  if (!known) {
    return expansion.computed(from, made.value_or(""), row.name, line);
  }
  return made ? std::optional(ShellText(*made)) : std::nullopt;
}

}  // namespace

std::optional<ShellText> shell_output(const ShellFields& words,
                                      const std::optional<ShellText>& input,
                                      ShellExpansion& expansion, int line) {
  const std::string name = words.empty() ? std::string{} : words.front().known().value_or("");
  if (name == "echo") {
    return echoed(words);
  }
  if (name == "printf") {
    return formatted(words);
  }
  if (name == "dirname" || name == "basename") {
    return path_output(words, name == "dirname");
  }
  if (name == "cat" && (words.size() == 1 || words[1].known() == "-") && input) {
    return input;
  }
  const auto* const row = std::find_if(kPrinting.begin(), kPrinting.end(),
                                       [&](const Printing& one) { return one.name == name; });
  return row == kPrinting.end() ? std::nullopt : plain_output(*row, words, input, expansion, line);
}

}  // namespace stepcast
