// SPDX-License-Identifier: Apache-2.0
#include "frameworks/shell_pattern.hpp"

#include <regex.h>

#include <algorithm>
#include <array>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

struct CharacterClass {
  std::string_view name;
  bool (*holds)(char);
};
constexpr auto kClasses = std::to_array<CharacterClass>({
    {"[:alnum:]", ascii::is_alphanumeric},
    {"[:alpha:]", ascii::is_letter},
    {"[:digit:]", ascii::is_digit},
    {"[:lower:]", ascii::is_lower},
    {"[:upper:]", ascii::is_upper},
    {"[:space:]", ascii::is_space},
});

// What one element of a pattern is: how long it is, and whether it matches a letter.
struct Element {
  std::size_t length = 1;
  bool matches = false;
};

// "[a-z]" at the start of a pattern; one literal '[' where nothing closes it.
Element bracket(std::string_view pattern, char c) {
  std::size_t at = 1;
  const bool negated = pattern.substr(at).starts_with('!') || pattern.substr(at).starts_with('^');
  at += negated ? 1 : 0;
  bool found = false;
  for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
    const std::string_view rest = pattern.substr(at);
    const auto* const known =
        std::find_if(kClasses.begin(), kClasses.end(),
                     [rest](const CharacterClass& row) { return rest.starts_with(row.name); });
    if (known != kClasses.end()) {
      found = found || known->holds(c);
      at += known->name.size();
      continue;
    }
    at += rest.front() == '\\' && rest.size() > 1 ? 1 : 0;
    const char low = pattern[at];
    const bool range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    const char high = range ? pattern[at + 2] : low;
    found = found || (c >= low && c <= high);
    at += range ? 3 : 1;
  }
  return at < pattern.size() ? Element{at + 1, found != negated} : Element{1, c == '['};
}

Element element(std::string_view pattern, char c) {
  switch (pattern.front()) {
    case '?':
      return {1, true};
    case '[':
      return bracket(pattern, c);
    case '\\':
      return pattern.size() > 1 ? Element{2, c == pattern[1]} : Element{1, c == '\\'};
    default:
      return {1, c == pattern.front()};
  }
}

}  // namespace

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (from < pattern.size() && pattern[from] == '*') {
      star = from++;
      resume = at;
      continue;
    }
    const Element found =
        from < pattern.size() ? element(pattern.substr(from), text[at]) : Element{};
    if (found.matches) {
      ++at;
      from += found.length;
    } else if (star != std::string_view::npos) {
      from = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', from) == std::string_view::npos;
}

std::string as_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern;
}

bool is_extended_pattern(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    i += pattern[i] == '\\' ? 2 : 0;
    if (i + 1 < pattern.size() && pattern[i + 1] == '(' &&
        std::string_view("@!+*?").find(pattern[i]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::string without_match(const std::string& text, const std::string& pattern, PatternEnd end,
                          PatternReach reach) {
  const std::string_view whole = text;
  for (std::size_t step = 0; step <= text.size(); ++step) {
    const std::size_t length = reach == PatternReach::kShortest ? step : text.size() - step;
    const std::string_view part =
        end == PatternEnd::kStart ? whole.substr(0, length) : whole.substr(text.size() - length);
    if (matches_pattern(part, pattern)) {
      return std::string(end == PatternEnd::kStart ? whole.substr(length)
                                                   : whole.substr(0, text.size() - length));
    }
  }
  return text;
}

namespace {

// The longest match that begins here; nothing where none does.
std::optional<std::size_t> match_length(std::string_view text, const std::string& pattern) {
  for (std::size_t length = text.size() + 1; length-- > 0;) {
    if (matches_pattern(text.substr(0, length), pattern)) {
      return length;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string with_replaced(const std::string& text, const std::string& pattern,
                          const std::string& by, PatternPlaces places) {
  if (pattern.empty()) {
    return places == PatternPlaces::kStart ? by + text
           : places == PatternPlaces::kEnd ? text + by
                                           : text;
  }
  if (places == PatternPlaces::kEnd) {
    const std::string kept = without_match(text, pattern, PatternEnd::kEnd, PatternReach::kLongest);
    const bool matched = kept.size() < text.size() || matches_pattern({}, pattern);
    return matched ? kept + by : text;
  }
  std::string made;
  std::size_t at = 0;
  bool replaces = true;
  while (at < text.size()) {
    const auto length =
        replaces ? match_length(std::string_view(text).substr(at), pattern) : std::nullopt;
    if (length && *length > 0) {
      made += by;
      at += *length;
      replaces = places == PatternPlaces::kEach;
    } else {
      made += text[at++];
    }
    replaces = replaces && places != PatternPlaces::kStart;
  }
  return made;
}

namespace {

// Matching by the C library takes long for counts inside counts and for groups that are asked for
// again; what launch scripts match are names.
bool is_quick(const std::string& pattern) {
  constexpr std::size_t kLongest = 200;
  constexpr std::ptrdiff_t kMostGroups = 20;
  const auto count = [&](char c) { return std::count(pattern.begin(), pattern.end(), c); };
  const bool refers = std::adjacent_find(pattern.begin(), pattern.end(), [](char a, char b) {
                        return a == '\\' && ascii::is_digit(b);
                      }) != pattern.end();
  const auto open = pattern.find('{');
  const auto digits = open == std::string::npos ? 0 : pattern.find('}', open) - open;
  return pattern.size() < kLongest && count('(') < kMostGroups && count('{') < 2 && digits < 6 &&
         !refers && pattern.find('\0') == std::string::npos;
}

}  // namespace

std::optional<std::vector<std::string>> regex_match(const std::string& text,
                                                    const std::string& pattern) {
  constexpr std::size_t kLongestText = 4096;
  regex_t compiled;
  if (!is_quick(pattern) || text.size() > kLongestText ||
      regcomp(&compiled, pattern.c_str(), REG_EXTENDED) != 0) {
    return std::nullopt;
  }
  std::vector<regmatch_t> places(compiled.re_nsub + 1);
  std::vector<std::string> groups;
  if (regexec(&compiled, text.c_str(), places.size(), places.data(), 0) == 0) {
    for (const regmatch_t& place : places) {
      groups.push_back(place.rm_so < 0
                           ? std::string{}
                           : text.substr(static_cast<std::size_t>(place.rm_so),
                                         static_cast<std::size_t>(place.rm_eo - place.rm_so)));
    }
  }
  regfree(&compiled);
  return groups;
}

}  // namespace stepcast
