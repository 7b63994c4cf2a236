// SPDX-License-Identifier: Apache-2.0
// The energy of a kernel from what it does; see hardware/kernel_constants.hpp.
#pragma once

#include "stepcast/cost/cost_model.hpp"

namespace stepcast {

struct KernelActivity {
  double matrix_cycles = 0.0;  // summed over compute units, with the matrix pipes busy
  Dtype dtype = Dtype::kBf16;
  Bytes hbm{};  // read and written
  Accumulation accumulation = Accumulation::kFast;
};

Joules kernel_energy(const KernelActivity& activity, const KernelContext& context);

}  // namespace stepcast
