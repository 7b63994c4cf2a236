// SPDX-License-Identifier: Apache-2.0
// Events of a trace as text, one a line, handed on in pieces.
//
// A trace has hundreds of thousands of events, most of which differ in their times and numbers
// alone. What is fixed of an event is therefore made once, by a JSON library, and only put between
// the numbers here.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace stepcast {

// Takes the next piece of the text.
using TextSink = std::function<void(std::string_view)>;

inline void append_number(std::string& text, std::int64_t value) {
  std::array<char, 20> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// The shortest text that reads as the same number.
inline void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// Nanoseconds as microseconds with three decimals: 1234567 -> 1234.567.
inline void append_microseconds(std::string& text, std::int64_t nanoseconds) {
  constexpr std::int64_t kPer = 1000;
  if (nanoseconds < 0) {
    text.push_back('-');
    nanoseconds = -nanoseconds;
  }
  append_number(text, nanoseconds / kPer);
  const std::int64_t rest = nanoseconds % kPer;
  text.push_back('.');
  text.push_back(static_cast<char>('0' + rest / 100));
  text.push_back(static_cast<char>('0' + rest / 10 % 10));
  text.push_back(static_cast<char>('0' + rest % 10));
}

class TraceJson {
 public:
  // `head`: the members of the document before the list of events, without its closing brace.
  TraceJson(TextSink sink, std::string_view head) : sink_(std::move(sink)), text_(head) {
    text_ += ",\"traceEvents\":[\n";
  }

  // Where the next event is written; its text follows without a comma.
  std::string& event() {
    hand_on(kPiece);
    if (!first_) {
      text_ += ",\n";
    }
    first_ = false;
    return text_;
  }

  void finish() {
    text_ += "\n]}\n";
    hand_on(0);
  }

 private:
  static constexpr std::size_t kPiece = 1U << 18U;

  void hand_on(std::size_t more_than) {
    if (text_.size() > more_than) {
      sink_(text_);
      text_.clear();
    }
  }

  TextSink sink_;
  std::string text_;
  bool first_ = true;
};

}  // namespace stepcast
