// SPDX-License-Identifier: Apache-2.0
// A measured kernel or collective as an operator that can be priced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/operators/operator_line.hpp"
#include "stepcast/validation/measured_run.hpp"

namespace stepcast {

// Collectives that run on another stream from the start of `kernels` calls of a kernel.
struct Beside {
  Collective collective;
  double collectives = 0.0;
  double kernels = 0.0;
};

struct MeasuredKernel {
  std::string id;
  std::string gpu;
  std::string group;
  std::string split;  // by which it is held out or not; empty: it is of neither half (held_out.hpp)
  OperatorLine work;
  std::optional<Beside> beside;  // what runs beside it for a while
  std::optional<Op> before;      // what the measured time holds besides and before it
  std::optional<double> duty;    // share of the time that it runs in bursts; empty: without pauses
  std::vector<MeasuredQuantity> quantities;
  std::string skipped;  // why `work` cannot be priced
};

// What the model says about a kernel: its time, its clock and the mean power.
struct KernelPrediction {
  Seconds time;
  Hertz clock;
  Watts power;
  Seconds communication;  // of one collective beside it

  [[nodiscard]] double of(Metric metric) const;
};

KernelPrediction predict(const MeasuredKernel& kernel, const CostModel& model,
                         const ClusterSpec& cluster);

}  // namespace stepcast
