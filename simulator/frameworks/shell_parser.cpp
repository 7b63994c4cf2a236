// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "frameworks/shell_lexer.hpp"
#include "frameworks/shell_syntax.hpp"
#include "stepcast/base/ascii.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr int kDeepestBlock = 100;
constexpr std::array<std::string_view, 10> kClosingWords = {"then", "elif", "else", "fi", "do",
                                                            "done", "esac", "}",    "]]", "in"};

template <typename Words>
bool is_one_of(const Words& words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

class Parser : private ShellLexer {
 public:
  using ShellLexer::ShellLexer;

  ShellList script() {
    ShellList list = steps({});
    if (!at_end()) {
      fail("has '" + std::string(rest().substr(0, 10)) + "' where a command should begin");
    }
    return list;
  }

 private:
  // --- lists ------------------------------------------------------------------------------------

  void enter() {
    if (++depth_ > kDeepestBlock) {
      fail("has more than " + std::to_string(kDeepestBlock) + " blocks in each other");
    }
  }
  void leave() { --depth_; }

  // Up to one of the words, which stays, a closing sign or the end.
  ShellList steps(std::initializer_list<std::string_view> ends) {
    enter();
    ShellList list;
    ShellJoin join = ShellJoin::kAlways;
    while (true) {
      skip_lines();
      if (at_end() || peek() == ')' || starts_with(";;") || starts_with(";&") ||
          is_one_of(ends, next_word())) {
        break;
      }
      list.push_back(step(join));
      join = joint(list.back());
    }
    leave();
    return list;
  }

  // The sign behind a step.
  ShellJoin joint(ShellStep& before) {
    skip_blanks();
    ShellJoin join = ShellJoin::kAlways;
    if (starts_with("&&") || starts_with("||")) {
      join = peek() == '&' ? ShellJoin::kAfterSuccess : ShellJoin::kAfterFailure;
      skip(2);
      skip_lines();
    } else if (peek() == '&' && !at_end()) {
      before.background = true;
      skip(1);
    } else if (peek() == ';' && !starts_with(";;") && !starts_with(";&")) {
      skip(1);
    } else if (peek() == '\n' && !at_end()) {
      end_line();
    } else if (!at_end() && peek() != ')' && peek() != ';') {
      fail("has '" + std::string(rest().substr(0, 10)) + "' behind a command");
    }
    return join;
  }

  ShellStep step(ShellJoin join) {
    ShellStep made;
    made.join = join;
    while (at_keyword("!") || at_keyword("time")) {
      made.negated = made.negated != at_keyword("!");
      word();
      skip_blanks();
      if (at_keyword("-p")) {
        word();
        skip_blanks();
      }
    }
    made.pipeline.push_back(statement());
    while (skip_blanks(), peek() == '|' && !starts_with("||") && !at_end()) {
      skip(starts_with("|&") ? 2 : 1);
      skip_lines();
      made.pipeline.push_back(statement());
    }
    return made;
  }

  void expect(std::string_view keyword, std::string_view opened, int line) {
    skip_lines();
    if (!at_keyword(keyword)) {
      throw ConfigError({file(), line, 0}, "has '" + std::string(opened) + "' without its '" +
                                               std::string(keyword) + "'");
    }
    word();
  }

  // --- statements -------------------------------------------------------------------------------

  ShellStatement statement() {
    skip_blanks();
    ShellStatement made;
    made.line = this->line();
    const std::string keyword(next_word());
    if (starts_with("((")) {
      made.command = computed();
    } else if (peek() == '(' && !at_end()) {
      made.command = group(ShellGroup{{}, true});
    } else if (!compound(keyword, made)) {
      if (is_one_of(kClosingWords, keyword)) {
        fail("has '" + keyword + "' where a command should begin");
      }
      simple(made);
      return made;
    }
    while (skip_blanks(), at_redirection()) {
      made.redirections.push_back(redirection());
    }
    return made;
  }

  bool compound(const std::string& keyword, ShellStatement& made) {
    if (keyword == "if") {
      made.command = condition();
    } else if (keyword == "for") {
      loop(made);
    } else if (keyword == "while" || keyword == "until") {
      made.command = repeated();
    } else if (keyword == "case") {
      made.command = chosen();
    } else if (keyword == "{") {
      made.command = group(ShellGroup{});
    } else if (keyword == "[[") {
      made.command = test();
    } else if (keyword == "function" || is_function(keyword)) {
      made.command = function();
    } else if (keyword == "select" || keyword == "coproc") {
      fail("has '" + keyword + "', which is not followed");
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] bool is_function(const std::string& name) const {
    std::string_view behind = rest().substr(std::min(name.size(), rest().size()));
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t"), behind.size()));
    const bool opens = behind.starts_with('(');
    behind.remove_prefix(opens ? 1 : 0);
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t"), behind.size()));
    return opens && behind.starts_with(')') && !name.empty() &&
           name.find_first_of("=$'\"`") == std::string::npos;
  }

  ShellFunction function() {
    const int line = this->line();
    if (at_keyword("function")) {
      word();
      skip_blanks();
    }
    ShellFunction made{word().text, {}};
    skip_blanks();
    if (peek() == '(' && !at_end()) {
      go_to(end_of_parentheses(text(), at()));
    }
    skip_lines();
    if (at_end() || (peek() != '{' && peek() != '(')) {
      throw ConfigError({file(), line, 0},
                        "has a function '" + made.name.substr(0, 40) + "' without its { }");
    }
    auto body = std::make_shared<ShellList>();
    body->push_back({ShellJoin::kAlways, false, false, {}});
    body->back().pipeline.push_back(statement());
    made.body = std::move(body);
    return made;
  }

  ShellComputed computed() {
    const int line = this->line();
    const std::size_t begin = at();
    go_to(end_of_parentheses(text(), at()));
    const std::string_view whole = text().substr(begin, at() - begin);
    if (whole.size() < 4 || !whole.ends_with("))")) {
      unclosed("a '(('", line);
    }
    return {std::string(whole.substr(2, whole.size() - 4))};
  }

  ShellGroup group(ShellGroup made) {
    const int line = this->line();
    skip(1);
    made.body = made.subshell ? steps({}) : steps({"}"});
    skip_blanks();
    if (at_end() || peek() != (made.subshell ? ')' : '}')) {
      unclosed(made.subshell ? "a '('" : "a '{'", line);
    }
    skip(1);
    return made;
  }

  ShellIf condition() {
    const int line = this->line();
    ShellIf made;
    do {
      word();
      ShellList asked = steps({"then"});
      expect("then", "if", line);
      made.clauses.emplace_back(std::move(asked), steps({"elif", "else", "fi"}));
      skip_lines();
    } while (at_keyword("elif"));
    if (at_keyword("else")) {
      word();
      made.otherwise = steps({"fi"});
    }
    expect("fi", "if", line);
    return made;
  }

  ShellList loop_body(std::string_view opened, int line) {
    expect("do", opened, line);
    ShellList body = steps({"done"});
    expect("done", opened, line);
    return body;
  }

  void loop(ShellStatement& made) {
    const int line = this->line();
    word();
    skip_blanks();
    if (starts_with("((")) {
      made.command = counted(line);
      return;
    }
    ShellFor found;
    found.name = word().text;
    skip_lines();
    found.positions = !at_keyword("in");
    if (!found.positions) {
      word();
      for (skip_blanks(); at_word(); skip_blanks()) {
        found.words.push_back(word());
      }
    }
    skip_blanks();
    skip(peek() == ';' && !at_end() ? 1 : 0);
    found.body = loop_body("for", line);
    made.command = std::move(found);
  }

  ShellCountedFor counted(int line) {
    const std::string parts = computed().expression + ";";
    ShellCountedFor made;
    std::size_t begin = 0;
    for (std::string* part : {&made.start, &made.condition, &made.step}) {
      const std::size_t end = std::min(parts.find(';', begin), parts.size());
      *part = parts.substr(std::min(begin, parts.size()), end - std::min(begin, end));
      begin = end + 1;
    }
    skip_blanks();
    skip(peek() == ';' && !at_end() ? 1 : 0);
    skip_lines();
    if (at_keyword("{")) {
      made.body = group(ShellGroup{}).body;
    } else {
      made.body = loop_body("for", line);
    }
    return made;
  }

  ShellWhile repeated() {
    const int line = this->line();
    ShellWhile made;
    const std::string keyword = word().text;
    made.until = keyword == "until";
    made.condition = steps({"do"});
    made.body = loop_body(keyword, line);
    return made;
  }

  ShellCase chosen() {
    const int line = this->line();
    word();
    skip_blanks();
    ShellCase made;
    made.subject = word();
    expect("in", "case", line);
    for (skip_lines(); !at_keyword("esac"); skip_lines()) {
      if (at_end()) {
        unclosed("a case", line);
      }
      made.branches.push_back(case_branch(line));
    }
    word();
    return made;
  }

  ShellCaseBranch case_branch(int line) {
    ShellCaseBranch made;
    skip(peek() == '(' ? 1 : 0);
    do {
      skip(peek() == '|' ? 1 : 0);
      skip_lines();
      if (!at_word()) {
        unclosed("a case", line);
      }
      made.patterns.push_back(word());
      skip_lines();
    } while (peek() == '|' && !at_end());
    if (at_end() || peek() != ')') {
      fail("has a pattern of a case without ')'");
    }
    skip(1);
    made.body = steps({"esac"});
    made.falls_through = starts_with(";&") || starts_with(";;&");
    const std::size_t sign = starts_with(";;&")                       ? 3
                             : starts_with(";;") || starts_with(";&") ? 2
                                                                      : 0;
    skip(sign);
    return made;
  }

  ShellTest test() {
    const int line = this->line();
    word();
    ShellTest made;
    for (skip_lines(); !at_keyword("]]"); skip_lines()) {
      if (at_end()) {
        unclosed("a '[['", line);
      }
      const bool regex = !made.tokens.empty() && made.tokens.back().word.text == "=~";
      made.tokens.push_back(regex ? ShellTest::Token{pattern(), false} : test_token());
    }
    word();
    return made;
  }

  ShellTest::Token test_token() {
    for (const std::string_view sign : {"&&", "||", "(", ")", "<", ">"}) {
      if (starts_with(sign)) {
        skip(sign.size());
        return {{std::string(sign), this->line()}, true};
      }
    }
    if (!at_word()) {
      fail("has '" + std::string(1, peek()) + "' inside [[ ]]");
    }
    ShellRawWord found = word();
    const bool sign = found.text == "!";
    return {std::move(found), sign};
  }

  // A regular expression: up to a blank that is in no parentheses.
  ShellRawWord pattern() {
    const int line = this->line();
    const std::size_t begin = at();
    int open = 0;
    while (!at_end() && (open > 0 || !ascii::is_space(peek()))) {
      open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
      construct(line);
    }
    return {std::string(text().substr(begin, at() - begin)), line};
  }

  void simple(ShellStatement& made) {
    ShellSimple found;
    while (skip_blanks(), !at_end()) {
      if (at_redirection()) {
        made.redirections.push_back(redirection());
        continue;
      }
      if (!at_word()) {
        break;
      }
      const bool assigns = shell_assignment_length(rest()) > 0;
      const bool declares = !found.words.empty() && declares_variables(found.words.front().text);
      if (assigns && found.words.empty()) {
        found.assignments.push_back(assignment());
      } else if (assigns && declares) {
        found.declared.emplace_back(found.words.size(), assignment());
      } else {
        found.words.push_back(word());
      }
    }
    if (found.words.empty() && found.assignments.empty() && made.redirections.empty()) {
      fail("has '" + std::string(rest().substr(0, 10)) + "' where a command should begin");
    }
    made.command = std::move(found);
  }

  int depth_ = 0;
};

}  // namespace

bool declares_variables(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords = {"export", "local", "declare", "readonly",
                                                      "typeset"};
  return is_one_of(kWords, word);
}

ShellList parse_shell(std::string_view text, const std::string& file, int line) {
  return Parser(text, file, line).script();
}

}  // namespace stepcast
