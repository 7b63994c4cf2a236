// SPDX-License-Identifier: Apache-2.0
// The time that no kernel beats, to judge a price by.
//
//   bound = max(FLOPs / dense matrix peak at the clock, compulsory bytes / HBM peak)
//
// Assumes that operands come from HBM; a kernel whose operands are still in a cache may be faster.
// A format that the part lacks runs at the rate of bf16. Collectives have no such bound: zero.
#pragma once

#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

Seconds roofline_bound(const Op& op, const DeviceSpec& device, Hertz clock);

}  // namespace stepcast
