// SPDX-License-Identifier: Apache-2.0
// Memory of each pipeline rank at its peak, by kind.
//
// States follow the ZeRO table (arXiv 1910.02054): with stage 1 the optimizer states, with 2 also
// the gradients, with 3 also the parameters are divided by the data-parallel degree. Activations in
// flight follow from the order of the pipeline schedule. With one micro-batch under full sharding,
// gradients appear as activations go, so the peak is the larger of the two. Not modelled:
// fragmentation, the framework's context (see kFrameworkReserve).
#pragma once

#include <vector>

#include "stepcast/hardware/cluster_spec.hpp"
#include "stepcast/parallel/layer_expansion.hpp"
#include "stepcast/parallel/sharding.hpp"

namespace stepcast {

struct StageMemory {
  std::int64_t rank = 0;  // of the pipeline
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes buffers;           // gathered weights, exchange buffers
  double in_flight = 0.0;  // micro-batches held at the peak, in units of the rank's own share

  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer + activations + buffers;
  }
};

// Kept free for the driver's context and the communication library on every GPU.
inline constexpr Bytes kFrameworkReserve{2.0 * 1024 * 1024 * 1024};

// States of `parameters` on one rank under the plan's ZeRO stage.
struct StateMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
};
StateMemory state_memory(const LocalParameters& parameters, const ParallelPlan& plan,
                         const SoftwareSpec& software);

// Every pipeline rank's memory, rank 0 first.
std::vector<StageMemory> memory_by_stage(const ExpansionContext& context);

// Reasons why the plan does not fit the GPU's memory; empty if it fits.
std::vector<std::string> memory_reasons(const std::vector<StageMemory>& stages,
                                        const DeviceSpec& device);

// Layers of a stage that full recomputation runs again.
std::int64_t fully_recomputed_layers(const RecomputeSpec& recompute, std::int64_t layers);

}  // namespace stepcast
