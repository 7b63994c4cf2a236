// SPDX-License-Identifier: Apache-2.0
// A measured kernel or collective as an operator that can be priced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/cost/operator_line.hpp"
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
  OperatorLine work;
  std::optional<Beside> beside;  // what runs beside it for a while
  std::optional<Op> before;      // what the measured time holds besides and before it
  std::optional<double> duty;    // share of the time that it runs in bursts; empty: without pauses
  std::vector<MeasuredQuantity> quantities;
  std::string skipped;  // why `work` cannot be priced
  std::string repeats;  // what rows of one shape share, so that they are judged on their median
};

// A row that is read strictly, and where what it names is found.
struct KernelRow {
  JsonObject object;
  JsonSource source;
  ProfileCache& profiles;
  Diagnostics& diagnostics;

  // The row to be read, which is no longer here then.
  JsonFields fields() { return {std::move(object), source, diagnostics}; }
  // Gives a key the name that operators have for it; an error without the key.
  void rename(std::string_view from, const std::string& to);
  void set_text(const std::string& key, std::string text);
  void set_flag(const std::string& key, bool flag);
  void set_count(const std::string& key, std::int64_t count);
};

// Adds the kernels that a row has measured.
using ReadKernels = void (*)(KernelRow row, std::vector<MeasuredKernel>& kernels);

inline constexpr Range<double> kMeasuredSeconds{1e-9, 1e6};
inline constexpr Range<double> kMeasuredMicroseconds{1e-3, 1e12};

// What the model says about a kernel: its time, its clock and the mean power.
struct KernelPrediction {
  Seconds time;
  Hertz clock;
  Watts power;
  Seconds communication;  // of one collective beside it

  [[nodiscard]] double of(const std::string& metric) const;
};

KernelPrediction predict(const MeasuredKernel& kernel, const CostModel& model,
                         const ClusterSpec& cluster);

// One kernel for all rows of a shape, in the place of the first, with the median of each quantity.
std::vector<MeasuredKernel> repeats_merged(std::vector<MeasuredKernel> kernels);

}  // namespace stepcast
