// SPDX-License-Identifier: Apache-2.0
// The syntax of bash, as far as scripts that launch a training use it. Words stay as they are
// written, quotes and dollars included: shell_expansion.hpp makes fields of them when they are
// reached, since what they become depends on what ran before.
//
//   [ "$A" = 1 ] && B=2 || run x   steps {test always, B=2 after success, run x after failure}
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stepcast {

struct ShellRawWord {
  std::string text;
  int line = 0;
};

struct ShellRedirection {
  int stream = 1;        // 0: input
  std::string sign;      // "<", ">", ">>", "<<", "<<<", ">&", "<&", "&>"
  ShellRawWord target;   // of "<<" its text
  bool literal = false;  // of "<<": nothing in it is expanded
};

struct ShellStep;
using ShellList = std::vector<ShellStep>;

// NAME=word, NAME+=word, NAME[word]=word, NAME=(words)
struct ShellAssignment {
  std::string name;
  std::string subscript;  // as written; empty: none
  bool appends = false;
  bool array = false;
  std::vector<ShellRawWord> words;  // of a scalar one; of an array also "[key]=word"
  int line = 0;
};

struct ShellSimple {
  std::vector<ShellAssignment> assignments;
  std::vector<ShellRawWord> words;
  // Assignments among the words of export, local, declare, readonly, typeset, where they stand.
  std::vector<std::pair<std::size_t, ShellAssignment>> declared;
};
struct ShellIf {
  std::vector<std::pair<ShellList, ShellList>> clauses;  // a condition and what runs
  ShellList otherwise;
};
struct ShellFor {
  std::string name;
  bool positions = false;  // without "in"
  std::vector<ShellRawWord> words;
  ShellList body;
};
struct ShellCountedFor {
  std::string start;
  std::string condition;
  std::string step;
  ShellList body;
};
struct ShellWhile {
  bool until = false;
  ShellList condition;
  ShellList body;
};
struct ShellCaseBranch {
  std::vector<ShellRawWord> patterns;
  ShellList body;
  bool falls_through = false;  // ";&" and ";;&", which no launch script needs
};
struct ShellCase {
  ShellRawWord subject;
  std::vector<ShellCaseBranch> branches;
};
struct ShellGroup {
  ShellList body;
  bool subshell = false;
};
// [[ ]]: words and the signs between them.
struct ShellTest {
  struct Token {
    ShellRawWord word;
    bool sign = false;  // && || ( ) < > !
  };
  std::vector<Token> tokens;
};
struct ShellComputed {  // (( ))
  std::string expression;
};
struct ShellFunction {
  std::string name;
  std::shared_ptr<const ShellList> body;
};

struct ShellStatement {
  std::variant<ShellSimple, ShellIf, ShellFor, ShellCountedFor, ShellWhile, ShellCase, ShellGroup,
               ShellTest, ShellComputed, ShellFunction>
      command;
  std::vector<ShellRedirection> redirections;
  int line = 0;
};

enum class ShellJoin { kAlways, kAfterSuccess, kAfterFailure };
struct ShellStep {
  ShellJoin join = ShellJoin::kAlways;
  bool negated = false;
  bool background = false;
  std::vector<ShellStatement> pipeline;  // with | between
};

// Throws ConfigError, at `file` and a line, where the text is no script. `line` is that of the
// first character.
ShellList parse_shell(std::string_view text, const std::string& file, int line);

// Whether a command sets the variables among its words: export, local, declare, readonly, typeset.
bool declares_variables(std::string_view word);

// What a text that stands inside backquotes says.
std::string without_backquotes(std::string_view text);

// The length of "NAME=", "NAME+=" or "NAME[...]=" at the start of a text, else 0.
std::size_t shell_assignment_length(std::string_view text);
// Of the name at the start of a text.
std::size_t shell_name_length(std::string_view text);

// The place behind the character at `at`, or behind the construct that it begins: 'a', "a", `a`,
// $(a), ${a}, \a; the end of the text where nothing closes it. Inside double quotes single ones are
// letters like others.
std::size_t end_of_construct(std::string_view text, std::size_t at);
std::size_t end_of_quoted_construct(std::string_view text, std::size_t at);
// The same of the parenthesis at `at`.
std::size_t end_of_parentheses(std::string_view text, std::size_t at);

}  // namespace stepcast
