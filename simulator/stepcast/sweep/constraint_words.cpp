// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/constraint_words.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

bool begins_name(char c) { return ascii::is_letter(c) || c == '_'; }
bool is_of_name(char c) { return begins_name(c) || ascii::is_digit(c); }
bool is_of_number(char c) { return is_of_name(c) || c == '.'; }

class WordSplitter {
 public:
  WordSplitter(std::string_view text, std::vector<ConstraintFault>& faults)
      : text_(text), faults_(faults) {}

  std::vector<ConstraintWord> split() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (ascii::is_space(c)) {
        ++at_;
      } else if (begins_name(c)) {
        keep_name();
      } else if (ascii::is_digit(c) || c == '.') {
        keep(Kind::kNumber, length_of(is_of_number));
      } else if (c == '\'' || c == '"') {
        keep_text();
      } else {
        keep_sign();
      }
    }
    keep(Kind::kEnd, 0);
    return std::move(words_);
  }

 private:
  using Kind = ConstraintWord::Kind;

  std::size_t length_of(bool (*belongs)(char)) const {
    const auto* const begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    return static_cast<std::size_t>(std::find_if_not(begin, text_.end(), belongs) - begin);
  }

  void keep(Kind kind, std::size_t length) {
    words_.push_back({kind, at_, text_.substr(at_, length)});
    at_ += length;
  }

  void keep_name() {
    struct NamedSign {
      std::string_view name;
      std::string_view sign;
    };
    constexpr std::array<NamedSign, 3> kNamed = {{{"and", "&&"}, {"or", "||"}, {"not", "!"}}};
    keep(Kind::kName, length_of(is_of_name));
    ConstraintWord& word = words_.back();
    for (const NamedSign& named : kNamed) {
      if (word.text == named.name) {
        word.kind = Kind::kSign;
        word.text = named.sign;
        return;
      }
    }
  }

  void keep_text() {
    const std::size_t close = text_.find(text_[at_], at_ + 1);
    if (close == std::string_view::npos) {
      faults_.push_back({at_, "has a quote that is never closed"});
      at_ = text_.size();
      return;
    }
    words_.push_back({Kind::kText, at_, text_.substr(at_ + 1, close - at_ - 1)});
    at_ = close + 1;
  }

  void keep_sign() {
    constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "&&", "||"};
    constexpr std::string_view kSigns = "+-*/%^()<>?:,!";
    const char c = text_[at_];
    if (std::find(kPairs.begin(), kPairs.end(), text_.substr(at_, 2)) != kPairs.end()) {
      keep(Kind::kSign, 2);
    } else if (kSigns.find(c) != std::string_view::npos) {
      keep(Kind::kSign, 1);
    } else {
      const bool plain = ascii::is_printable(c);
      faults_.push_back({at_, c == '=' ? "assigns with '='; write == to compare"
                              : plain
                                  ? "has a '" + std::string(1, c) + "', which means nothing here"
                                  : "has a character that means nothing here"});
      ++at_;
    }
  }

  std::string_view text_;
  std::vector<ConstraintFault>& faults_;
  std::vector<ConstraintWord> words_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<ConstraintWord> words_of(std::string_view text, std::vector<ConstraintFault>& faults) {
  return WordSplitter(text, faults).split();
}

}  // namespace stepcast
