// SPDX-License-Identifier: Apache-2.0
// What the words of a script become when they are reached: quotes, $A, ${A:-b} and its kin, $(( )),
// $( ), {a,b}, and the cutting of what no quotes hold together.
//
//   "${ARGS[@]}" --tp ${TP:-4}   with ARGS=(--bf16), TP unset: --bf16, --tp, 4
//
// A form that is not followed becomes an unknown, never nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/shell_state.hpp"
#include "frameworks/shell_syntax.hpp"
#include "frameworks/shell_text.hpp"

namespace stepcast {

// What all parts of a run share, whatever branch they are in.
struct ShellRun {
  ShellUnknowns unknowns;
  std::map<std::string, ShellUnknownId> absent;  // by what was asked for: "TP", "$1", "ARGS[@]"
  std::size_t expanded = 0;                      // characters, against scripts that explode
  std::size_t steps = 0;                         // commands, against scripts that do not end

  // Throws where a script makes too many.
  void count(std::size_t characters, const Location& where);
  // The unknown of that name, of which there is one however often it is asked for.
  ShellUnknownId absent_one(ShellUnknown unknown);
};

// A number that an expression makes: the guess where it has causes, nothing where it is none.
struct ShellNumber {
  std::optional<std::int64_t> value;
  std::vector<ShellUnknownId> causes;
};

class ShellExpansion {
 public:
  // What a command substitution prints.
  using Printed = std::function<ShellText(const std::string& command, int line)>;
  // `script` is what $0 is, `source` what BASH_SOURCE is, `file` what messages call it.
  struct Places {
    ShellText script;
    ShellText source;
    std::string file;
  };

  ShellExpansion(ShellState& state, ShellRun& run, const Places& places, Printed printed)
      : state_(state), run_(run), places_(places), printed_(std::move(printed)) {}

  ShellFields fields(const ShellRawWord& word);
  ShellFields fields(const std::vector<ShellRawWord>& words);
  // As behind "NAME=": one text, not cut.
  ShellText text(const ShellRawWord& word);
  // Of a here-document, in which quotes are letters.
  ShellText document(const ShellRawWord& text);
  ShellNumber number(std::string_view expression, int line);
  ShellText text_of(const ShellNumber& number, std::string_view expression, int line);
  // Unquoted * and ? match, quoted ones are letters. Unknown parts are their guess.
  [[nodiscard]] std::string pattern_of(const ShellText& text) const;
  // As a text that a shell can read again, in which unknown parts are variables of the reader's
  // own.
  static std::string script_of(const ShellText& text);
  // Such a text as it stands between single quotes.
  static ShellText literal_text(std::string_view script);
  [[nodiscard]] std::string guess_of(const ShellText& text) const {
    return run_.unknowns.text_of(text);
  }
  // Fields as items of a list: one that may be several, or none, becomes an unknown that is.
  ShellFields items(ShellFields fields, int line);
  // Fields as arguments, which are counted: all of them hang on one that may be several, or none,
  // whose unknowns are added to `causes`.
  ShellFields arguments(const ShellFields& fields, std::vector<ShellUnknownId>& causes, int line);
  // An unknown that follows from those in the texts.
  ShellText computed(const ShellFields& from, const std::string& guess, std::string_view what,
                     int line);
  // A form that is not followed.
  ShellText form(std::string_view what, int line, const std::string& guess = {});

  // Sets a variable or one item of it.
  void assign(const std::string& name, const std::string& subscript, const ShellText& text,
              int line);
  // The key of an item: that of a map, or the place in an array; nothing where it is unknown.
  std::optional<std::string> key_of(const std::string& name, const std::string& subscript,
                                    int line);

 private:
  class Fields;
  enum class Quoting { kNone, kDouble, kDocument };

  // What a name holds, as a list that "$@" keeps apart.
  struct Held {
    ShellFields values;
    bool listed = false;
    bool starred = false;  // one text when quoted
    bool is_set = true;
    std::string asked;  // for what nobody sets
    ShellUnknownKind absent = ShellUnknownKind::kUnset;
    bool certain = false;  // that it is not set
  };
  struct Parameter {
    std::string name;
    std::optional<std::string> subscript;
    std::string_view rest;
  };

  [[nodiscard]] Location here(int line) const { return {places_.file, line, 0}; }
  ShellText joined(const ShellRawWord& word, Quoting quoting);
  void walk(std::string_view raw, int line, Quoting quoting, Fields& fields);
  std::size_t walk_one(std::string_view raw, std::size_t at, int line, Quoting quoting,
                       Fields& fields);
  std::size_t escaped(std::string_view raw, std::size_t at, Quoting quoting, Fields& fields);
  void double_quoted(std::string_view inner, int line, Fields& fields);
  std::size_t dollar(std::string_view raw, std::size_t at, int line, Quoting quoting,
                     Fields& fields);
  void braced(std::string_view content, int line, Quoting quoting, Fields& fields);
  void insert(const Held& held, Quoting quoting, int line, Fields& fields);
  Held held(const std::string& name, const std::optional<std::string>& subscript, int line);
  static Held one(ShellText text);
  Held special(const std::string& name);
  ShellFields status_values();
  Held item(const ShellValue& value, const std::string& name, const std::string& subscript,
            int line);
  // The text that stands for what nobody sets.
  ShellText absent_text(const Held& held, int line);

  void counted(std::string_view content, int line, Quoting quoting, Fields& fields);
  void indirect(std::string_view content, int line, Quoting quoting, Fields& fields);
  static std::optional<Parameter> parameter(std::string_view content);
  void substitute(const Parameter& parameter, Held held, int line, Quoting quoting, Fields& fields);
  // What stands in where a variable is empty, or replaces it where it is not.
  enum class Fallback { kStandsIn, kReplaces };
  ShellText either(const Parameter& parameter, const Held& held, std::string_view word,
                   Fallback fallback, int line);
  bool with_fallback(const Parameter& parameter, Held& held, int line, Quoting quoting,
                     Fields& fields);
  Held sliced(const Held& held, std::string_view range, int line);
  ShellText changed(const ShellText& text, std::string_view change, int line);
  std::optional<std::string> changed_text(const std::string& text, std::string_view change,
                                          int line);
  std::optional<std::string> replaced(const std::string& text, std::string_view change, int line);
  ShellText operand(std::string_view raw, int line);

  ShellState& state_;
  ShellRun& run_;
  const Places& places_;
  Printed printed_;
  int depth_ = 0;
};

// The words that braces make of one: "a{b,c}" is ab and ac, "{1..3}" is 1, 2 and 3.
std::vector<std::string> with_braces(const std::string& word);

}  // namespace stepcast
