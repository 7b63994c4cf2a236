// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/trace_recording.hpp"

#include <algorithm>
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
    double end = 0.0;
    for (const std::size_t call : calls) {
      end = std::max(end, recording.calls[call].end);
    }
    return end;
  }
};

// When the host made a call; where launches were recorded those without one are left of before.
std::optional<double> made_at(const DeviceCall& call, bool launches_recorded) {
  if (call.launched >= 0.0) {
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
      recording.calls, [](double at) { return at >= 0.0; }, &DeviceCall::launched);
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

// The profiler counts steps from 0, recorded or not.
bool is_first(const std::string& mark) { return number_of(mark) == "0"; }

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
  chosen.follows_others = steps[at].mark != recording.steps.data() || !is_first(chosen.name);
  if (at + 1 < steps.size()) {
    chosen.until = steps[at + 1].first(recording);
  }
  chosen.calls = steps[at].calls;
  return chosen;
}

}  // namespace stepcast
