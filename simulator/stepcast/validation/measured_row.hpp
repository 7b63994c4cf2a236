// SPDX-License-Identifier: Apache-2.0
// A measured training run as an experiment that can be projected, and a measured kernel or
// collective as an operator that can be priced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stepcast/dispatchers/expert_traffic.hpp"
#include "stepcast/experiment/lone_layer_study.hpp"
#include "stepcast/experiment/profile_cache.hpp"
#include "stepcast/operator_lines/operator_line.hpp"
#include "stepcast/result/metric.hpp"

namespace stepcast {

struct MeasuredQuantity {
  Metric metric = Metric::kTokenRate;
  double value = 0.0;
  std::string group = {};                           // where it differs from the run's
  std::string skipped = {};                         // why this one is not compared
  std::optional<std::int64_t> rank = std::nullopt;  // of the pipeline; else the fullest
};

// Which memory of a GPU a source reports: what tensors take, what the allocator reserved for them,
// or with what is outside of the allocator besides (nvidia-smi, NVML's memory in use).
enum class MemoryReading { kAllocated, kReserved, kDevice };

struct MeasuredRun {
  std::string id;
  std::string gpu;
  std::string group;
  std::vector<MeasuredQuantity> quantities;
  std::optional<Experiment> experiment;
  std::optional<LayerQuestion> layer;  // that was measured by itself, instead of steps
  MemoryReading memory = MemoryReading::kAllocated;
  std::string skipped;  // why there is no experiment
  std::string network;  // the state in which the run found its network, if it says
  // Who published it: runs of one source share machines and habits, so that their errors are held
  // out together. Empty: the runs of its file are of one source.
  std::string source_id;
  std::string source;    // where its figures stand, for people
  bool in_view = false;  // constants were chosen with all runs of its source in view
  std::string split;     // by which it is held out or not; empty: its id (held_out.hpp)
};

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
  std::vector<Op> before;        // what the measured time holds besides and before it
  std::optional<double> duty;    // share of the time that it runs in bursts; empty: without pauses
  std::vector<MeasuredQuantity> quantities;
  std::string skipped;  // why `work` cannot be priced
};

// What the model says about a kernel: its time, its clock and the mean power.
struct KernelPrediction {
  Seconds time;
  Hertz clock;
  Watts power;
  Seconds communication;       // of one collective beside it
  CommunicationBytes experts;  // of an exchange
  Bytes interconnect;          // interconnect_bytes
  bool waits_for_host = false;

  [[nodiscard]] double of(Metric metric) const;
};

KernelPrediction predict(const MeasuredKernel& kernel, const CostModel& model,
                         const ClusterSpec& cluster);

}  // namespace stepcast
