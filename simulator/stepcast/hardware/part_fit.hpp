// SPDX-License-Identifier: Apache-2.0
// Whether the numbers of a part fit each other: a profile that changes some numbers of another part
// takes over the rest, and some of them hold only beside what was changed.
#pragma once

#include <string>
#include <vector>

#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

// A number of the part's own, and what was taken over beside it.
struct Misfit {
  std::string key;       // of the part's own number: "matrix_rate.bf16"
  std::string text;      // what was taken over, and the number that would fit
  bool decides = false;  // whether an answer with it would be wrong, and not only less sure
};

// What `part` took over from `base` that no longer fits what it states itself:
//
//   power.matrix_energy   is of a cycle of one unit, which does as many FLOPs as matrix_rate says
//   clock.rated           times units and matrix_rate is the peak of the data sheet
//   clock.sustained       follows (limit - idle) / (units x matrix_energy), to the power
//                         1 / (1 + voltage_exponent) (kernel_constants.hpp)
//   hbm.achieved          is a share of hbm.peak
//   memory_bound.unit_bandwidth  times units must carry hbm.achieved
//   rates of collectives  were reached on the links of `base`
std::vector<Misfit> misfits(const DeviceSpec& part, const DeviceSpec& base);

// Whether the compute units of `part` are others than those of `base`, or more or fewer.
bool has_other_die(const DeviceSpec& part, const DeviceSpec& base);

// Why a fabric of `domain_size` does not go with nodes of so many GPUs; empty where it does. The
// GPUs of a node are always joined, and a larger domain joins whole nodes.
std::string domain_fault(std::int64_t domain_size, std::int64_t gpus_per_node);

}  // namespace stepcast
