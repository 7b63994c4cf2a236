// SPDX-License-Identifier: Apache-2.0
// How much faster one GPU is than another at the same work: predicted against measured.
//
//   error = (predicted rate of B / predicted rate of A) / (measured rate of B / of A) - 1
//
// The same work: model, plan as it was resolved, sequence, batches, format, recomputation and
// number of GPUs. Where several runs of one GPU do the same work, with other versions of the
// software, their medians count. What one software stack does better on one part than on another is
// in the error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/validation/timed_runs.hpp"

namespace stepcast {

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

// By work, then GPU.
std::vector<SkuPair> sku_pairs(const std::vector<TimedRun>& runs);
// Of |error|; zero without pairs.
double median_error(const std::vector<SkuPair>& pairs);

std::string sku_pairs_to_text(const std::vector<SkuPair>& pairs);
nlohmann::ordered_json sku_pairs_to_json(const std::vector<SkuPair>& pairs);

}  // namespace stepcast
