// SPDX-License-Identifier: Apache-2.0
// A training run that somebody measured and published, as far as it can stand beside another one.
#pragma once

#include <cstdint>
#include <string>

#include "stepcast/base/dtype.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/result/expected_error.hpp"

namespace stepcast {

struct PublishedRun {
  std::string id;
  std::string model;
  double parameters = 0.0;
  AccuracyFamily family = AccuracyFamily::kDense;
  std::string gpu;
  std::int64_t gpus = 1;
  Dtype dtype = Dtype::kBf16;
  std::string software;                    // the named set that describes it
  double tokens_per_second_per_gpu = 0.0;  // as measured
  FlopsPerSecond model_rate_per_gpu;       // of the model's FLOPs as we count them, at that rate
  std::string source;                      // where the figure stands
};

}  // namespace stepcast
