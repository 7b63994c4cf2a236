// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/trace_recording.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

// A marked step and its calls.
struct StepCalls {
  const MarkedStep* mark = nullptr;
  std::vector<std::size_t> calls;

  [[nodiscard]] double first(const TraceRecording& recording) const {
    return recording.calls[calls.front()].start;  // calls are sorted by it
  }
  [[nodiscard]] double last(const TraceRecording& recording) const {
    double end = first(recording);
    for (const std::size_t call : calls) {
      end = std::max(end, recording.calls[call].end);
    }
    return end;
  }
};

// When the host made a call; where launches were recorded those without one are left of before.
std::optional<double> made_at(const DeviceCall& call, bool launches_recorded) {
  if (call.launched) {
    return call.launched;
  }
  return launches_recorded ? std::nullopt : std::optional(call.start);
}

std::vector<StepCalls> steps_with_calls(const TraceRecording& recording) {
  std::vector<StepCalls> steps;
  for (const MarkedStep& mark : recording.steps) {
    steps.push_back({&mark, {}});
  }
  const bool launches_recorded = std::ranges::any_of(
      recording.calls, [](const DeviceCall& call) { return call.launched.has_value(); });
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    const std::optional<double> at = made_at(recording.calls[i], launches_recorded);
    if (!at) {
      continue;
    }
    const auto after = std::ranges::upper_bound(
        steps, *at, {}, [](const StepCalls& step) { return step.mark->start; });
    if (after != steps.begin() && *at < std::prev(after)->mark->end) {
      std::prev(after)->calls.push_back(i);
    }
  }
  std::erase_if(steps, [](const StepCalls& step) { return step.calls.empty(); });
  return steps;
}

double length(const std::vector<StepCalls>& steps, std::size_t at,
              const TraceRecording& recording) {
  const double start = steps[at].first(recording);
  const bool next = at + 1 < steps.size() && steps[at + 1].first(recording) > start;
  return (next ? steps[at + 1].first(recording) : steps[at].last(recording)) - start;
}

// The one of median length, the first left out where there are others.
std::size_t steady(const std::vector<StepCalls>& steps, const TraceRecording& recording) {
  std::vector<std::pair<double, std::size_t>> lengths;
  for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    lengths.emplace_back(length(steps, i, recording), i);
  }
  std::ranges::sort(lengths);
  return lengths[(lengths.size() - 1) / 2].second;
}

// The number at the end of a step's name, "7" of "ProfilerStep#7".
std::string_view number_of(std::string_view mark) {
  return mark.substr(mark.find_last_not_of("0123456789") + 1);
}

std::optional<std::size_t> named_step(const std::vector<StepCalls>& steps,
                                      const std::string& wanted) {
  const auto named = std::ranges::find_if(steps, [&wanted](const StepCalls& step) {
    const std::string& mark = step.mark->name;
    return mark == wanted || number_of(mark) == wanted;
  });
  return named == steps.end() ? std::nullopt : std::optional(named - steps.begin());
}

// Empty for a number that is too large.
std::optional<std::int64_t> count_of(std::string_view mark) {
  const std::string_view digits = number_of(mark);
  std::int64_t count = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return fault == std::errc{} ? std::optional(count) : std::nullopt;
}

// Whether no step ran before the first of the marks. The profiler counts steps from 0, recorded or
// not; loops that mark their own count from 0 or from 1.
bool begins_with_first(const std::vector<MarkedStep>& marks) {
  const std::string& first = marks.front().name;
  const std::optional<std::int64_t> count = count_of(first);
  if (!count || *count > (first.starts_with(kProfilerStep) ? 0 : 1)) {
    return false;
  }
  return std::ranges::all_of(marks, [&count](const MarkedStep& mark) {
    const std::optional<std::int64_t> other = count_of(mark.name);
    return !other || *other >= *count;
  });
}

[[noreturn]] void refuse(const std::vector<StepCalls>& steps, const std::string& file,
                         const std::string& wanted) {
  constexpr std::size_t kMost = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(steps.size(), kMost); ++i) {
    names += (i == 0 ? "" : ", ") + steps[i].mark->name;
  }
  throw ConfigError({file, 0, 0}, "the trace has no step '" + wanted + "'; it has " +
                                      (names.empty() ? "no marks of steps" : names));
}

}  // namespace

ChosenStep chosen_step(const TraceRecording& recording, const std::string& file,
                       const std::string& wanted) {
  const std::vector<StepCalls> steps = steps_with_calls(recording);
  ChosenStep chosen;
  if (steps.empty() && wanted.empty()) {
    chosen.calls.resize(recording.calls.size());
    std::iota(chosen.calls.begin(), chosen.calls.end(), 0);
    return chosen;
  }
  const std::optional<std::size_t> named = named_step(steps, wanted);
  if (steps.empty() || (!wanted.empty() && !named)) {
    refuse(steps, file, wanted);
  }
  const std::size_t at = wanted.empty() ? steady(steps, recording) : *named;
  chosen.name = steps[at].mark->name;
  chosen.follows_others =
      steps[at].mark != recording.steps.data() || !begins_with_first(recording.steps);
  if (at + 1 < steps.size()) {
    chosen.until = steps[at + 1].first(recording);
  }
  chosen.calls = steps[at].calls;
  return chosen;
}

}  // namespace stepcast
