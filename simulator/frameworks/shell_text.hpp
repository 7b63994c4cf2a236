// SPDX-License-Identifier: Apache-2.0
// Text of a shell script, of which parts may be unknown: what a command prints, what the caller's
// environment holds, what hangs on a condition that nobody can answer without running something.
//
//   TP=$1                     TP is one unknown piece
//   ARGS="--tp $TP --bf16"    "--tp ", that piece, " --bf16"
//
// An unknown is a row of ShellUnknowns with its line, with what bash would make of it in an empty
// environment (its guess) and, where a condition chooses, with what else it could be.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/error.hpp"

namespace stepcast {

using ShellUnknownId = std::size_t;

enum class ShellQuoting { kNone, kQuoted };

struct ShellPiece {
  std::string text;
  ShellQuoting quoting = ShellQuoting::kNone;
  std::optional<ShellUnknownId> unknown;  // then `text` is empty

  bool operator==(const ShellPiece&) const = default;
};

class ShellText {
 public:
  ShellText() = default;
  explicit ShellText(std::string_view text) { add(text, ShellQuoting::kQuoted); }
  static ShellText of(ShellUnknownId unknown);

  void add(std::string_view text, ShellQuoting quoting);
  void add(ShellUnknownId unknown, ShellQuoting quoting);
  void add(const ShellText& text, ShellQuoting quoting);  // its pieces get this quoting
  void append(const ShellText& text);                     // its pieces keep their own

  [[nodiscard]] const std::vector<ShellPiece>& pieces() const { return pieces_; }
  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<ShellUnknownId> unknowns() const;
  // The text, where all of it is known.
  [[nodiscard]] std::optional<std::string> known() const;
  // The unknown that is all of the text, if one is.
  [[nodiscard]] std::optional<ShellUnknownId> sole_unknown() const;

  // By what it is made of; how it was quoted does not matter.
  friend bool operator==(const ShellText& a, const ShellText& b);

 private:
  std::vector<ShellPiece> pieces_;
};

using ShellFields = std::vector<ShellText>;

enum class ShellUnknownKind {
  kUnset,     // a variable that nobody sets
  kPosition,  // $1, and $# and $@ as a whole
  kFolder,    // where the script lies, or is started
  kOutput,    // what a command prints
  kStatus,    // whether a command succeeds
  kFile,      // whether a file is there
  kSource,    // a script that is not there
  kForm,      // what this reader does not follow
  kComputed,  // from other unknowns
  kChoice,    // by a condition that is unknown
};

struct ShellUnknown {
  ShellUnknownKind kind = ShellUnknownKind::kForm;
  std::string what;  // as written: "$1", "$(hostname)"
  Location where;
  ShellFields guess;                      // what bash makes of it if nobody sets anything
  std::vector<ShellFields> alternatives;  // of a choice; empty: it could be anything
  std::vector<ShellUnknownId> causes;     // those that it follows from; a root has none
  std::set<std::string> names;            // variables that are it alone
  std::set<std::string> compared;         // texts that conditions compare it with
};

// Whether the script by itself, started without arguments and environment, settles it: by nothing.
bool is_absent(ShellUnknownKind kind);

class ShellUnknowns {
 public:
  ShellUnknownId add(ShellUnknown unknown);
  [[nodiscard]] const ShellUnknown& operator[](ShellUnknownId id) const { return rows_[id]; }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  void name(ShellUnknownId id, const std::string& variable) { rows_[id].names.insert(variable); }
  void compare(const ShellText& text, const std::string& other);

  // What the text is if one unknown is `instead` and all others are their guess.
  struct Choice {
    ShellUnknownId unknown = 0;
    ShellFields instead;
  };
  [[nodiscard]] std::string text_of(const ShellText& text, const Choice* choice = nullptr) const;
  // The same of fields, which unknowns outside of quotes cut into words, or leave out.
  [[nodiscard]] std::vector<std::string> words_of(const ShellFields& fields,
                                                  const Choice* choice = nullptr) const;

  // The unknowns without causes that these follow from.
  [[nodiscard]] std::set<ShellUnknownId> roots_of(const std::vector<ShellUnknownId>& ids) const;
  // All that texts are made of, also inside guesses and alternatives.
  [[nodiscard]] std::set<ShellUnknownId> within(const ShellFields& fields) const;

 private:
  std::vector<ShellUnknown> rows_;
};

}  // namespace stepcast
