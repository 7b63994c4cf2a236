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
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/trace_writer/operator_event.hpp"
#include "stepcast/trace_writer/process_groups.hpp"
#include "stepcast/trace_writer/step_trace.hpp"

namespace stepcast {

// --- the fixed part -----------------------------------------------------------------------------
// The members of an event between its numbers: `head` ends before the thread, `arguments` begins
// after the first ones of "args", which differ from call to call.
struct EventText {
  std::string head;
  std::string arguments;
};

struct OperatorText {
  EventText op;
  EventText launch;
  EventText kernel;
  std::string node;  // of autograd, quoted for JSON; empty: it runs nothing in backward
  std::optional<std::size_t> group;  // of a collective, in whose order its kernel has a number
};

struct TraceProcesses {
  std::int64_t host = 0;
  std::int64_t device = 0;

  [[nodiscard]] std::int64_t thread(HostThread thread) const {
    return host + (thread == HostThread::kBackward ? 1 : 0);
  }
  // Of a thread of the device; the stream of computation has number 7, as usual.
  [[nodiscard]] static std::int64_t stream(std::int64_t thread) { return 7 + thread; }
};

// `operator_name` is what the simulator calls it. `launch` is the call that starts its kernel, of
// the category `kernel_category`.
struct OperatorCalls {
  std::string_view operator_name;
  std::string_view launch;
  std::string_view kernel_category = "kernel";
  bool recomputed = false;  // forward once more, which both say
};

OperatorText operator_text(const TraceOperator& event, const OperatorCalls& calls,
                           const TraceProcesses& processes, ProcessGroups& groups);

// The begin of a slice's event, up to the number of its thread.
std::string event_head(std::string_view category, std::string_view name, std::int64_t process);

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// --- the numbers --------------------------------------------------------------------------------

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

// What a reader takes `nanoseconds` for that are written in microseconds.
inline double read_microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000.0;
}

// The duration of a slice, in microseconds. Readers add it to the begin in doubles, and the sum of
// two decimals is now and then a bit above or below the end, which is where the next slice begins:
// they would take the two for nested or overlapping. Three decimals are written where their sum is
// the end, else those that it takes.
void append_duration(std::string& text, std::int64_t begin, std::int64_t end);

inline void append_member(std::string& text, std::string_view name, std::int64_t value) {
  text += name;
  append_number(text, value);
}

// Where the step begins in the times of a trace, in ns: its host does before.
inline constexpr std::int64_t kOrigin = 1'000'000'000;

// The begin of an event up to its arguments.
inline void append_slice(std::string& text, std::string_view head, std::int64_t thread,
                         std::int64_t begin, std::int64_t end) {
  text += head;
  append_number(text, thread);
  text += ",\"ts\":";
  append_microseconds(text, kOrigin + begin);
  text += ",\"dur\":";
  append_duration(text, kOrigin + begin, kOrigin + end);
  text += ",\"args\":{";
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
