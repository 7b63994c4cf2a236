// SPDX-License-Identifier: Apache-2.0
// Measured runs beside what is predicted of them, and what several of them say at a time: what a
// search loses by trusting predictions, how much faster another GPU is (validation/timed_runs.hpp).
#pragma once

#include <string>
#include <vector>

#include "stepcast/base/sum.hpp"
#include "stepcast/result/projection.hpp"

namespace stepcast {

struct TimedRun {
  std::string id;
  Projection projection;
  double measured = 0.0;  // tokens/s/GPU
  std::string network;    // MeasuredRun::network

  [[nodiscard]] double predicted() const { return projection.tokens_per_second_per_gpu; }
};

struct RegretGroup {
  std::string model;
  std::string gpu;
  std::int64_t nodes = 0;
  std::string network;                // one state of it; empty: whatever it was
  std::vector<const TimedRun*> runs;  // of the input
  const TimedRun* pick = nullptr;     // predicted to be the fastest
  const TimedRun* best = nullptr;     // the fastest

  [[nodiscard]] double kept() const { return pick->measured / best->measured; }
  [[nodiscard]] double random() const {
    const double sum = sum_over(runs, &TimedRun::measured);
    return sum / static_cast<double>(runs.size()) / best->measured;
  }
};

struct RegretSummary {
  double mean = 0.0;
  double median = 0.0;
  double worst = 0.0;
  double random = 0.0;  // mean
};

// All runs of one GPU that do some work.
struct SkuRate {
  std::string gpu;
  std::string software;  // of the first run
  std::vector<std::string> ids;
  double measured = 0.0;  // medians
  double predicted = 0.0;
};

struct SkuPair {
  std::string work;
  SkuRate first;  // by name
  SkuRate second;

  [[nodiscard]] double measured_ratio() const { return second.measured / first.measured; }
  [[nodiscard]] double predicted_ratio() const { return second.predicted / first.predicted; }
  [[nodiscard]] double error() const { return predicted_ratio() / measured_ratio() - 1.0; }
};

}  // namespace stepcast
