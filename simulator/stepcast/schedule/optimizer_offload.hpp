// SPDX-License-Identifier: Apache-2.0
// How long a device waits for the host that updates a share of its parameters.
//
//   d = n g / L, h = n p / L, u = n b / min(C, M / G)   d + u + h, or the longest if they overlap
//
// with n parameters of g bytes of gradient, p bytes of the copy that kernels read, and b bytes that
// an update moves in the host's memory (plan/update_rule.hpp); L the link of a device to the host
// in either direction, C what the cores of one device move while they update, M what those of all
// G devices of a node do (hardware/cluster_spec.hpp). The host begins when gradients are reduced;
// overlap is parameter by parameter, its ramp left out (Megatron's
// core/optimizer/cpu_offloading/hybrid_optimizer.py).
#pragma once

#include "stepcast/schedule/layer_prices.hpp"

namespace stepcast {

// Of a pipeline rank that holds these weights; zero where the device updates all.
Seconds offload_time(const StepContext& context, const HeldWeights& held);

}  // namespace stepcast
