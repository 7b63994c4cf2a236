// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/trace_counters.hpp"

#include <algorithm>

namespace stepcast {
namespace {

// One micro-batch's activations of one chunk, taken or given back.
struct MemoryChange {
  Seconds at;
  int by = 0;
};

std::vector<MemoryChange> changes_of(const PlacedStep& step) {
  std::vector<MemoryChange> changes;
  for (const PlacedPass& pass : step.passes) {
    if (pass.part == PassPart::kParameters || pass.part == PassPart::kOptimizer) {
      continue;
    }
    const ActivationChange change = activation_change(pass.task);
    if (change.taken != kNoChunk) {
      changes.push_back({pass.start, 1});
    }
    if (change.returned != kNoChunk) {
      changes.push_back({pass.end, -1});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const MemoryChange& a, const MemoryChange& b) { return a.at < b.at; });
  return changes;
}

int most_held(const std::vector<MemoryChange>& changes) {
  int held = 0;
  int most = 0;
  for (const MemoryChange& change : changes) {
    held += change.by;
    most = std::max(most, held);
  }
  return most;
}

CounterSample memory_sample(Seconds at, const StageMemory& memory, double share) {
  return {"memory",
          at,
          {{"parameters_bytes", memory.parameters.value()},
           {"gradients_bytes", memory.gradients.value()},
           {"optimizer_bytes", memory.optimizer.value()},
           {"buffers_bytes", memory.buffers().value()},
           {"activations_bytes", share * memory.activations.value()}}};
}

}  // namespace

std::vector<CounterSample> counter_samples(const PlacedStep& step, const Projection& projection,
                                           const StageMemory& memory) {
  constexpr double kMega = 1e6;
  const std::vector<MemoryChange> changes = changes_of(step);
  const int most = most_held(changes);
  std::vector<CounterSample> samples;
  for (const Seconds at : {Seconds{}, step.step}) {
    samples.push_back({"clock", at, {{"MHz", projection.clock.value() / kMega}}});
    samples.push_back({"power", at, {{"W", projection.power.value()}}});
  }
  samples.push_back(memory_sample({}, memory, 0.0));
  int held = 0;
  for (const MemoryChange& change : changes) {
    held += change.by;
    samples.push_back(memory_sample(change.at, memory, static_cast<double>(held) / most));
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const CounterSample& a, const CounterSample& b) { return a.at < b.at; });
  return samples;
}

}  // namespace stepcast
