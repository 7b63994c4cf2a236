// SPDX-License-Identifier: Apache-2.0
#include "traces/marked_steps.hpp"

#include <algorithm>
#include <optional>

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
  const bool launches_recorded =
      std::any_of(recording.calls.begin(), recording.calls.end(),
                  [](const DeviceCall& call) { return call.launched >= 0.0; });
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    const std::optional<double> at = made_at(recording.calls[i], launches_recorded);
    if (!at) {
      continue;
    }
    const auto after = std::upper_bound(
        steps.begin(), steps.end(), *at,
        [](double time, const StepCalls& step) { return time < step.mark->start; });
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
  std::sort(lengths.begin(), lengths.end());
  return lengths[(lengths.size() - 1) / 2].second;
}

std::optional<std::size_t> named_step(const std::vector<StepCalls>& steps,
                                      const std::string& wanted) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string& mark = steps[i].mark->name;
    if (mark == wanted || mark.ends_with("#" + wanted)) {
      return i;
    }
  }
  return std::nullopt;
}

// The profiler counts steps from 0, recorded or not.
bool is_first(const std::string& mark) { return mark.ends_with("#0"); }

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
    for (std::size_t i = 0; i < recording.calls.size(); ++i) {
      chosen.calls.push_back(i);
    }
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
