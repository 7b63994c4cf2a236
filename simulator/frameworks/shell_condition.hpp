// SPDX-License-Identifier: Apache-2.0
// The conditions of shells, [ "$A" = b ] and [[ -n $A && $B == x* ]], as far as they can be
// answered without running anything: what hangs on an unknown is unknown.
//
//   TP=$1;  [ -z "$TP" ]     holds, if nobody gives $1
//   TP=$1;  [ "$TP" = 8 ]    unknown: it hangs on $1
#pragma once

#include <functional>
#include <string>

#include "frameworks/shell_expansion.hpp"
#include "frameworks/shell_state.hpp"

namespace stepcast {

class ShellConditions {
 public:
  // Whether a file is known to be there.
  using FileCheck = std::function<bool(const std::string& path)>;

  ShellConditions(ShellExpansion& expansion, ShellRun& run, ShellState& state, FileCheck is_there,
                  Location where)
      : expansion_(expansion),
        run_(run),
        state_(state),
        is_there_(std::move(is_there)),
        where_(std::move(where)) {}

  // Of [ ] and test.
  ShellTruth of_words(const ShellFields& words);
  // Of [[ ]].
  ShellTruth of_test(const ShellTest& test);
  // Whether a text is matched by a pattern of a case.
  ShellTruth matches(const ShellText& text, const ShellText& pattern);

 private:
  struct Token {
    ShellText text;
    std::string plain;  // as known text; else empty
    bool sign = false;
  };
  enum class Style { kWords, kTest };

  ShellTruth alternatives();
  ShellTruth conjunction();
  ShellTruth primary();
  ShellTruth unary(const std::string& sign, const Token& operand);
  ShellTruth binary(const Token& left, const std::string& sign, const Token& right);
  ShellTruth is_empty(const ShellText& text);
  ShellTruth file(const std::string& sign, const ShellText& path);
  ShellTruth is_set(const std::string& name);
  ShellTruth compared(const ShellText& left, const std::string& sign, const ShellText& right);
  ShellTruth regex(const ShellText& left, const ShellText& right);
  // Unknown by these texts; `guess` is what holds if nobody gives what is absent.
  struct Guess {
    bool holds;
    bool may_be_absent;
  };
  ShellTruth hanging(const ShellFields& on, Guess guess) const;
  [[nodiscard]] bool is_next(std::string_view sign, std::string_view letter) const;
  [[nodiscard]] const Token& at(std::size_t ahead) const { return tokens_[at_ + ahead]; }
  [[nodiscard]] std::size_t left() const { return tokens_.size() - at_; }

  ShellExpansion& expansion_;
  ShellRun& run_;
  ShellState& state_;
  FileCheck is_there_;
  Location where_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Style style_ = Style::kWords;
};

}  // namespace stepcast
