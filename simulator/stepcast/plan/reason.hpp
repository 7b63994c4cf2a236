// SPDX-License-Identifier: Apache-2.0
// Why a plan cannot run: the words of a rule, and between them what one plan has.
//
//   Reason{"tp", of_plan(" = ", 8), " does not divide ffn_hidden", of_plan(" = ", 100)}
//
// has the text "tp = 8 does not divide ffn_hidden = 100", which reports print, and the rule
// "tp does not divide ffn_hidden", by which a sweep counts the plans that break it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace stepcast {

// Words of a reason, which without of_plan and of_rule both the text and the rule have.
struct ReasonWords {
  enum class In { kBoth, kText, kRule };

  ReasonWords(const char* of_both) : words(of_both) {}             // NOLINT: as it is written
  ReasonWords(std::string of_both) : words(std::move(of_both)) {}  // NOLINT: likewise
  ReasonWords(std::string of_one, In where) : words(std::move(of_one)), in(where) {}

  std::string words;
  In in = In::kBoth;
};

// What is true of one plan alone.
inline ReasonWords of_plan(std::string words) { return {std::move(words), ReasonWords::In::kText}; }
inline ReasonWords of_plan(std::string_view before, std::int64_t number) {
  return of_plan(std::string(before) + std::to_string(number));
}
// What the rule says in place of what one plan has.
inline ReasonWords of_rule(std::string words) { return {std::move(words), ReasonWords::In::kRule}; }

class Reason {
 public:
  Reason(std::initializer_list<ReasonWords> parts) {
    for (const ReasonWords& part : parts) {
      text_ += part.in == ReasonWords::In::kRule ? "" : part.words;
      rule_ += part.in == ReasonWords::In::kText ? "" : part.words;
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& rule() const { return rule_; }
  bool operator==(const Reason&) const = default;

 private:
  std::string text_;
  std::string rule_;
};

// "ep = 3 does not divide the number of experts = 8"
inline Reason does_not_divide(const std::string& name, std::int64_t divisor, const std::string& of,
                              std::int64_t value) {
  return {name, of_plan(" = ", divisor), " does not divide " + of, of_plan(" = ", value)};
}

}  // namespace stepcast
