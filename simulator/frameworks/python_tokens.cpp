// SPDX-License-Identifier: Apache-2.0
#include "frameworks/python_tokens.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

bool begins_name(char c) { return ascii::is_letter(c) || c == '_'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

class Tokenizer {
 public:
  Tokenizer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<PythonStatement> statements() {
    while (at_ < text_.size()) {
      step();
    }
    if (depth_ > 0) {
      fail("has a bracket that is never closed");
    }
    finish_statement();
    return std::move(statements_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ConfigError({file_, line_, column()}, message);
  }
  [[nodiscard]] int column() const { return static_cast<int>(at_ - line_begin_) + 1; }
  [[nodiscard]] char ahead(std::size_t by) const {
    return at_ + by < text_.size() ? text_[at_ + by] : '\0';
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      if (depth_ == 0) {
        finish_statement();
      }
      next_line();
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\' && (ahead(1) == '\n' || ahead(1) == '\r')) {
      at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      next_line();
    } else if (c == ';' && depth_ == 0) {
      finish_statement();
      ++at_;
    } else if (const std::size_t prefix = string_prefix()) {
      take_string(prefix - 1);
    } else if (begins_name(c)) {
      take(PythonToken::Kind::kName, ascii::is_word);
    } else if (ascii::is_digit(c)) {
      take(PythonToken::Kind::kNumber, [](char n) { return ascii::is_word(n) || n == '.'; });
    } else {
      take_sign();
    }
  }

  void next_line() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }

  void finish_statement() {
    if (!tokens_.empty()) {
      statements_.push_back({tokens_.front().column - 1, std::move(tokens_)});
      tokens_.clear();
    }
  }

  PythonToken token(PythonToken::Kind kind) const { return {kind, {}, line_, column(), at_, at_}; }
  void put(PythonToken token, std::string text) {
    token.text = std::move(text);
    token.end = at_;
    tokens_.push_back(std::move(token));
  }

  template <typename Part>
  void take(PythonToken::Kind kind, Part part) {
    PythonToken taken = token(kind);
    const std::size_t begin = at_;
    while (at_ < text_.size() && part(text_[at_])) {
      ++at_;
    }
    put(std::move(taken), std::string(text_.substr(begin, at_ - begin)));
  }

  // One more than the letters before the quote of a string that begins here; 0 if none does.
  [[nodiscard]] std::size_t string_prefix() const {
    constexpr std::string_view kTokenLetters = "rRbBfFuU";
    std::size_t letters = 0;
    while (letters < 2 && kTokenLetters.find(ahead(letters)) != std::string_view::npos) {
      ++letters;
    }
    return is_quote(ahead(letters)) ? letters + 1 : 0;
  }

  void take_string(std::size_t letters) {
    PythonToken taken = token(PythonToken::Kind::kString);
    at_ += letters;
    const char quote = text_[at_];
    const bool triple = ahead(1) == quote && ahead(2) == quote;
    at_ += triple ? 3 : 1;
    std::string text;
    while (!ends_string(quote, triple)) {
      if (at_ >= text_.size() || (!triple && text_[at_] == '\n')) {
        fail("has a string that is never closed");
      }
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
      at_ += escaped ? 1 : 0;
      text += text_[at_];
      if (text_[at_] == '\n') {
        next_line();
      } else {
        ++at_;
      }
    }
    at_ += triple ? 3 : 1;
    put(std::move(taken), std::move(text));
  }

  [[nodiscard]] bool ends_string(char quote, bool triple) const {
    return ahead(0) == quote && (!triple || (ahead(1) == quote && ahead(2) == quote));
  }

  void take_sign() {
    constexpr std::array<std::string_view, 8> kPairs = {
        "**", "//", "->", "==", "!=", "<=", ">=", ":="};
    const std::string_view pair = text_.substr(at_, 2);
    const std::size_t size =
        std::find(kPairs.begin(), kPairs.end(), pair) != kPairs.end() ? 2U : 1U;
    const char c = text_[at_];
    if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if ((c == ')' || c == ']' || c == '}') && depth_-- == 0) {
      fail("closes a bracket that was never opened");
    }
    PythonToken taken = token(PythonToken::Kind::kSign);
    at_ += size;
    put(std::move(taken), std::string(text_.substr(at_ - size, size)));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  int depth_ = 0;
  std::vector<PythonToken> tokens_;
  std::vector<PythonStatement> statements_;
};

}  // namespace

std::vector<PythonStatement> python_statements(std::string_view text, const std::string& file) {
  return Tokenizer(text, file).statements();
}

}  // namespace stepcast
