// SPDX-License-Identifier: Apache-2.0
// The words of a shell script, expanded: quotes, variables, arrays, $(( )), comments, continued
// lines; and assignments, NAME=word, NAME+=word, NAME=(words).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

// What a script has set so far; a scalar has one item.
struct ShellVariables {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::string> given;  // which the script cannot change
  std::set<std::string> unknown;             // asked for, and set by nobody
  std::size_t expanded = 0;                  // characters so far, against scripts that explode

  [[nodiscard]] const std::vector<std::string>* find(const std::string& name) const;
  [[nodiscard]] std::string first(const std::string& name) const;
  void set(const std::string& name, std::vector<std::string> items);
};

// One word as written, and the fields that it expands to: none, one or several.
struct ShellToken {
  std::string raw;
  std::vector<std::string> fields;
  Location where;

  [[nodiscard]] std::string joined() const;
};

enum class ShellBranch { kTaken, kNotTaken };

class ShellWordReader {
 public:
  // `line` is that of the first character of `text`.
  ShellWordReader(std::string_view text, std::string file, int line, ShellVariables& variables,
                  int depth = 0);

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool starts_with(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }
  [[nodiscard]] Location here() const { return {file_, line_, 0}; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[noreturn]] void fail(const std::string& message) const;

  void skip(std::size_t count);
  // Blanks, continued lines and, at the start of a word, comments; not the end of a line.
  void skip_blanks();
  // Whether a word begins here.
  [[nodiscard]] bool at_word() const;
  ShellToken word();
  // A word whose fields are one, whatever its quotes.
  ShellToken whole_word();
  // The lines up to one that is `end`, which a here-document ends with.
  std::string_view here_document(const std::string& end);
  // Inside [[ ]], signs of redirection and lists are ordinary.
  void begin_test() { in_test_ = true; }
  void end_test() { in_test_ = false; }
  // Words of branches that are not taken expand to nothing and ask for nothing.
  void follow(ShellBranch branch) { branch_ = branch; }
  // Counts characters that are read or made; throws where a script makes too many.
  void count(std::size_t characters);

 private:
  class Fields;
  enum class Quoting { kNone, kDouble };
  void quoted(Fields& fields);
  void dollar(Quoting quoting, Fields& fields);
  void braced(std::string_view content, Quoting quoting, Fields& fields);
  void substitute(const std::string& name, const std::vector<std::string>* values,
                  std::string_view rest, Quoting quoting, Fields& fields);
  void arithmetic(std::string_view content, Fields& fields);
  void insert(const std::vector<std::string>& values, Quoting quoting, Fields& fields);
  // Past the bracket that closes the one here; what is between.
  std::string_view enclosed(char open, char close);
  std::string expanded(std::string_view word) const;
  void unknown(const std::string& what);

  std::string_view text_;
  std::string file_;
  int line_;
  ShellVariables* variables_;
  int depth_;
  std::size_t at_ = 0;
  bool in_test_ = false;
  ShellBranch branch_ = ShellBranch::kTaken;
};

struct ShellAssignment {
  std::string name;
  bool appends = false;
  bool array = false;
  std::vector<std::string> items;  // of a scalar one
};

// Whether an assignment begins here.
bool at_assignment(const ShellWordReader& reader);
// The one that begins here; nothing where none does.
std::optional<ShellAssignment> read_assignment(ShellWordReader& reader);
void apply(const ShellAssignment& assignment, ShellVariables& variables);

// Values of the assignments "KEY=VALUE" whose key has no small letters, as a variable of a shell.
std::map<std::string, std::string> shell_assignments(const std::vector<std::string>& texts);

}  // namespace stepcast
