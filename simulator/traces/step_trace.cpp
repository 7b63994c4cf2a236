// SPDX-License-Identifier: Apache-2.0
#include "traces/step_trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "traces/compressed_stream.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kLongest = 1e18;           // us, of a time and of a duration: beyond it is no time
constexpr std::size_t kLongestName = 4096;  // of a kernel, what counts stands at its start
constexpr std::size_t kDeepest = 256;       // levels of lists and objects

// What is kept of the event being read.
struct Event {
  std::string category;
  std::string name;
  std::string phase;
  std::string collective;
  double start = NAN;
  double duration = NAN;
  double elements = 0.0;
};

// Follows where in the document it is, and keeps the fields of events that name a device's span.
class TraceReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return true; }
  bool boolean(bool /*flag*/) { return true; }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) { return number(value); }
  bool binary(binary_t& /*bytes*/) { return true; }
  bool string(string_t& value) {
    if (std::string* field = text_field(); field != nullptr) {
      *field = value.substr(0, kLongestName);
    }
    return true;
  }
  bool key(string_t& value) {
    if (depth_ == 1) {
      events_ = value == "traceEvents";
      found_ = found_ || events_;
    }
    key_ = value.substr(0, kLongestName);
    if (events_ && depth_ == kInEvent) {
      arguments_ = key_ == "args";
    }
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(); }
  bool start_array(std::size_t /*size*/) { return open(); }
  bool end_object() {
    if (events_ && depth_ == kInEvent) {
      keep();
    }
    --depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*fault*/) {
    wrong_at_ = position;
    return false;
  }

  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] std::size_t wrong_at() const { return wrong_at_; }
  std::vector<DeviceSpan> take() { return std::move(spans_); }

 private:
  static constexpr std::size_t kInEvent = 3;  // {"traceEvents": [{
  static constexpr std::size_t kInArguments = 4;

  bool open() {
    ++depth_;
    if (events_ && depth_ == kInEvent) {
      event_ = {};
      arguments_ = false;
    }
    return depth_ <= kDeepest;
  }

  [[nodiscard]] bool in_arguments() const {
    return events_ && depth_ == kInArguments && arguments_;
  }

  std::string* text_field() {
    if (in_arguments() && key_ == "Collective name") {
      return &event_.collective;
    }
    if (!events_ || depth_ != kInEvent) {
      return nullptr;
    }
    return key_ == "cat"    ? &event_.category
           : key_ == "name" ? &event_.name
           : key_ == "ph"   ? &event_.phase
                            : nullptr;
  }

  bool number(double value) {
    if (events_ && depth_ == kInEvent) {
      if (key_ == "ts") {
        event_.start = value;
      } else if (key_ == "dur") {
        event_.duration = value;
      }
    } else if (in_arguments() && (key_ == "In msg nelems" || key_ == "Out msg nelems")) {
      event_.elements += value;
    }
    return true;
  }

  void keep() {
    const bool device = event_.category == "kernel" || event_.category == "gpu_memcpy" ||
                        event_.category == "gpu_memset";
    const bool timed = std::abs(event_.start) <= kLongest && event_.duration >= 0.0 &&
                       event_.duration <= kLongest;  // false without the fields
    if (!device || event_.phase != "X" || !timed) {
      return;
    }
    if (spans_.empty()) {
      origin_ = event_.start;  // times since boot would lose digits
    }
    const double start = (event_.start - origin_) * kMicrosecond;
    spans_.push_back({category_of_kernel(event_.name, event_.collective), start,
                      start + event_.duration * kMicrosecond, event_.elements});
  }

  std::size_t depth_ = 0;
  bool events_ = false;
  bool arguments_ = false;
  bool found_ = false;
  std::string key_;
  Event event_;
  double origin_ = 0.0;
  std::size_t wrong_at_ = 0;
  std::vector<DeviceSpan> spans_;
};

using Intervals = std::vector<std::pair<double, double>>;

// The union of intervals, which are sorted by their start.
Intervals joined(const Intervals& sorted) {
  Intervals result;
  for (const auto& [start, end] : sorted) {
    if (result.empty() || start > result.back().second) {
      result.emplace_back(start, end);
    } else {
      result.back().second = std::max(result.back().second, end);
    }
  }
  return result;
}

double length(const Intervals& intervals) {
  double sum = 0.0;
  for (const auto& [start, end] : intervals) {
    sum += end - start;
  }
  return sum;
}

// Beyond the lower quartile of like calls, where there are enough of them to have one.
CategoryTimes waiting_in(const std::vector<DeviceSpan>& spans) {
  constexpr std::size_t kFew = 4;
  std::map<std::pair<StepCategory, double>, std::vector<double>> calls;
  for (const DeviceSpan& span : spans) {
    if (is_communication(span.category) && span.elements > 0.0) {
      calls[{span.category, span.elements}].push_back(span.end - span.start);
    }
  }
  CategoryTimes waiting{};
  for (auto& [kind, durations] : calls) {
    if (durations.size() < kFew) {
      continue;
    }
    std::sort(durations.begin(), durations.end());
    const double usual = durations[durations.size() / 4];
    for (const double duration : durations) {
      waiting[static_cast<std::size_t>(kind.first)] += Seconds(std::max(0.0, duration - usual));
    }
  }
  return waiting;
}

}  // namespace

std::vector<DeviceSpan> device_spans(std::istream& stream, const std::string& file) {
  TraceReader reader;
  if (!nlohmann::json::sax_parse(stream, &reader)) {
    throw ConfigError({file, 0, 0}, "this is no JSON text: it is wrong at byte " +
                                        std::to_string(reader.wrong_at()) +
                                        "; give the trace as the profiler wrote it");
  }
  if (!reader.found()) {
    throw ConfigError({file, 0, 0}, "the file has no list 'traceEvents' and is no trace");
  }
  std::vector<DeviceSpan> spans = reader.take();
  if (spans.empty()) {
    throw ConfigError({file, 0, 0},
                      "the trace has no kernels (events of category 'kernel' with 'ts' and 'dur'); "
                      "record the device's activity too");
  }
  return spans;
}

StepTrace summary_of(std::vector<DeviceSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const DeviceSpan& a, const DeviceSpan& b) {
    return std::pair(a.start, a.end) < std::pair(b.start, b.end);
  });
  StepTrace trace;
  trace.spans = spans.size();
  Intervals all;
  Intervals computing;
  for (const DeviceSpan& span : spans) {
    trace.device_time[static_cast<std::size_t>(span.category)] += Seconds(span.end - span.start);
    all.emplace_back(span.start, span.end);
    if (!is_communication(span.category)) {
      computing.emplace_back(span.start, span.end);
    }
  }
  trace.waiting = waiting_in(spans);
  all = joined(all);
  const double busy = length(all);
  trace.step = Seconds(all.empty() ? 0.0 : all.back().second - all.front().first);
  trace.exposed_communication = Seconds(busy - length(joined(computing)));
  trace.idle = trace.step - Seconds(busy);
  return trace;
}

bool is_step_trace(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".gz")) {
    return true;
  }
  if (!name.ends_with(".json")) {
    return false;
  }
  constexpr std::size_t kStart = 1U << 16U;  // bytes in which the list of events begins
  CompressedInput input(file);
  std::string start(kStart, '\0');
  start.resize(
      static_cast<std::size_t>(input.sgetn(start.data(), static_cast<std::streamsize>(kStart))));
  return start.find("\"traceEvents\"") != std::string::npos;
}

StepTrace read_step_trace(const std::filesystem::path& file) {
  CompressedInput input(file);
  std::istream stream(&input);
  try {
    return summary_of(device_spans(stream, file.string()));
  } catch (const ConfigError&) {
    if (!input.fault().empty()) {
      throw ConfigError({file.string(), 0, 0}, input.fault());
    }
    throw;
  }
}

}  // namespace stepcast
