// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/constraint_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "stepcast/base/nearest_name.hpp"
#include "stepcast/sweep/plan_constraint.hpp"

namespace stepcast {
namespace {

constexpr std::array<std::string_view, 6> kFunctions = {"abs",  "min",  "max",
                                                        "log2", "sqrt", "round"};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// What stands at one place of a constraint.
struct Word {
  enum class Kind { kNumber, kName, kText, kSign };
  Kind kind = Kind::kSign;
  std::size_t offset = 0;
  std::string_view text;
};

const ConstraintVariable* variable_named(std::string_view name) {
  const auto all = constraint_variables();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const ConstraintVariable& v) { return v.name == name; });
  return found == all.end() ? nullptr : &*found;
}

class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  TranslatedConstraint translate() {
    split();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      put(i);
    }
    if (words_.empty() && result_.faults.empty()) {
      fault(0, "is empty; write e.g. tp <= gpus_per_node");
    }
    return std::move(result_);
  }

 private:
  void fault(std::size_t offset, std::string message) {
    result_.faults.push_back({offset, std::move(message)});
  }

  void split() {
    std::size_t at = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at;
      } else if (is_letter(c)) {
        at = keep(Word::Kind::kName, at,
                  end_of(at, [](char d) { return is_letter(d) || is_digit(d); }));
      } else if (is_digit(c) || c == '.') {
        at = keep(Word::Kind::kNumber, at,
                  end_of(at, [](char d) { return is_letter(d) || is_digit(d) || d == '.'; }));
      } else if (c == '\'' || c == '"') {
        at = split_text(at);
      } else {
        at = split_sign(at);
      }
    }
  }

  template <typename Belongs>
  std::size_t end_of(std::size_t at, const Belongs& belongs) const {
    while (at < text_.size() && belongs(text_[at])) {
      ++at;
    }
    return at;
  }

  std::size_t keep(Word::Kind kind, std::size_t from, std::size_t to) {
    words_.push_back({kind, from, text_.substr(from, to - from)});
    return to;
  }

  std::size_t split_text(std::size_t at) {
    const std::size_t close = text_.find(text_[at], at + 1);
    if (close == std::string_view::npos) {
      fault(at, "has a quote that is never closed");
      return text_.size();
    }
    words_.push_back({Word::Kind::kText, at, text_.substr(at + 1, close - at - 1)});
    return close + 1;
  }

  std::size_t split_sign(std::size_t at) {
    constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "&&", "||"};
    constexpr std::string_view kSigns = "+-*/%^()<>?:,!";
    const std::string_view pair = text_.substr(at, 2);
    if (std::find(kPairs.begin(), kPairs.end(), pair) != kPairs.end()) {
      return keep(Word::Kind::kSign, at, at + 2);
    }
    if (text_[at] == '=') {
      fault(at, "assigns with '='; write == to compare");
    } else if (kSigns.find(text_[at]) == std::string_view::npos) {
      const bool plain = std::isprint(static_cast<unsigned char>(text_[at])) != 0;
      fault(at, plain ? "has a '" + std::string(1, text_[at]) + "', which means nothing here"
                      : "has a character that means nothing here");
    } else {
      return keep(Word::Kind::kSign, at, at + 1);
    }
    return at + 1;
  }

  void write(const Word& word, std::string_view text) {
    result_.expression += text;
    result_.expression += ' ';
    result_.offsets.resize(result_.expression.size(), word.offset);
  }

  void put(std::size_t i) {
    const Word& word = words_[i];
    switch (word.kind) {
      case Word::Kind::kSign:
        return write(word, word.text);
      case Word::Kind::kNumber:
        return put_number(word);
      case Word::Kind::kText:
        check_beside_text(i);
        return write(word, std::to_string(static_cast<std::int64_t>(number_of_text(word.text))));
      case Word::Kind::kName:
        return put_name(i);
    }
  }

  void put_number(const Word& word) {
    const bool plain = std::all_of(word.text.begin(), word.text.end(),
                                   [](char c) { return is_digit(c) || c == '.'; }) &&
                       std::count(word.text.begin(), word.text.end(), '.') <= 1 &&
                       is_digit(word.text.back());
    if (!plain) {
      fault(word.offset, "has '" + std::string(word.text.substr(0, 40)) +
                             "', which is no number; write e.g. 8 or 0.5");
    }
    write(word, plain ? word.text : "0");
  }

  void put_name(std::size_t i) {
    const Word& word = words_[i];
    if (word.text == "and" || word.text == "or") {
      return write(word, word.text == "and" ? "&&" : "||");
    }
    if (word.text == "not") {
      return write(word, "!");
    }
    if (word.text == "true" || word.text == "false") {
      return write(word, word.text == "true" ? "1" : "0");
    }
    if (i + 1 < words_.size() && words_[i + 1].text == "(" &&
        words_[i + 1].kind == Word::Kind::kSign) {
      return put_function(word);
    }
    const ConstraintVariable* variable = variable_named(word.text);
    if (variable == nullptr) {
      return refuse_name(word);
    }
    if (variable->is_text) {
      check_beside_text(i);
    }
    result_.needs_plan = result_.needs_plan || variable->known == KnownFrom::kPlan;
    write(word, word.text);
  }

  void put_function(const Word& word) {
    if (std::find(kFunctions.begin(), kFunctions.end(), word.text) == kFunctions.end()) {
      fault(word.offset, "calls '" + std::string(word.text.substr(0, 40)) +
                             "', which is none of abs, min, max, log2, sqrt and round");
    }
    // muParser wants the parenthesis right after it.
    write(word, word.text);
    result_.expression.pop_back();
    result_.offsets.pop_back();
  }

  void refuse_name(const Word& word) {
    std::vector<std::string> known;
    for (const ConstraintVariable& variable : constraint_variables()) {
      known.emplace_back(variable.name);
    }
    std::string remedy = did_you_mean(word.text, known);
    if (remedy.empty()) {
      remedy = "; texts stand in quotes, and the names are:";
      for (const std::string& name : known) {
        remedy += " " + name;
      }
    }
    fault(word.offset, "reads '" + std::string(word.text.substr(0, 40)) +
                           "', which is no name of a plan" + remedy);
    write(word, "0");
  }

  // The text variable at `i`, null if it is none.
  const ConstraintVariable* text_variable(std::size_t i) const {
    const ConstraintVariable* found =
        words_[i].kind == Word::Kind::kName ? variable_named(words_[i].text) : nullptr;
    return found != nullptr && found->is_text ? found : nullptr;
  }

  // Texts are only equal to texts, or different.
  void check_beside_text(std::size_t i) {
    const auto compares = [this](std::size_t at) {
      return at < words_.size() && words_[at].kind == Word::Kind::kSign &&
             (words_[at].text == "==" || words_[at].text == "!=");
    };
    const std::size_t none = words_.size();
    const std::size_t other = compares(i + 1) ? i + 2 : i >= 2 && compares(i - 1) ? i - 2 : none;
    const bool paired = other < none && (words_[other].kind == Word::Kind::kText ||
                                         text_variable(other) != nullptr);
    const bool quoted = words_[i].kind == Word::Kind::kText;
    if (!paired) {
      fault(words_[i].offset, quoted
                                  ? "has a text that is compared with no text; write e.g. "
                                    "schedule == '1f1b'"
                                  : "reads '" + std::string(words_[i].text) +
                                        "', a text: compare it with a text in quotes by == or !=");
      return;
    }
    if (quoted) {
      check_known(words_[i], text_variable(other));
    }
  }

  void check_known(const Word& word, const ConstraintVariable* variable) {
    if (variable == nullptr || variable->texts == nullptr) {
      return;
    }
    std::vector<std::string> known;
    for (const std::string_view name : variable->texts()) {
      known.emplace_back(name);
    }
    if (std::find(known.begin(), known.end(), word.text) != known.end()) {
      return;
    }
    std::string remedy = did_you_mean(word.text, known);
    if (remedy.empty()) {
      remedy = "; give one of:";
      for (const std::string& name : known) {
        remedy += " " + name;
      }
    }
    fault(word.offset, "has '" + std::string(word.text.substr(0, 40)) + "', which no " +
                           std::string(variable->name) + " is" + remedy);
  }

  std::string_view text_;
  std::vector<Word> words_;
  TranslatedConstraint result_;
};

}  // namespace

TranslatedConstraint translate_constraint(std::string_view text) {
  return Translator(text).translate();
}

double number_of_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return static_cast<double>(hash >> 11U);
}

}  // namespace stepcast
