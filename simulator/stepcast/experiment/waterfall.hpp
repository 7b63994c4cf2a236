// SPDX-License-Identifier: Apache-2.0
// From the peak rate to the MFU, loss by loss.
//
// At the peak the model's FLOPs of a GPU would take T0 = MFU * step. Each cause adds its time, of
// the slowest rank, until the sum is the step:
//
//   factor    = T before it / T with it
//   MFU after = T0 / T with it
//
// so that the product of the factors is the MFU. In order:
//
//   mask           pairs of attention that the MFU counts and the mask leaves out: a gain
//   imbalance      the rank has more FLOPs than the mean GPU: uneven stages, padding, experts
//   precision      products in numbers of another rate than the peak's
//   recompute      all that runs again in backward
//   clock          matrix units below the rated clock, each kernel at its own
//   products       shapes, tiles and waves of products
//   attention      likewise of attention of any kind
//   memory_bound   kernels without products, told by their kinds as well
//   computation    what the computation of the step takes besides its operators by themselves
//   contention     computation slowed by the communication that it hides
//   tp_communication ...  that nothing hides, by axis
//   bubble, optimizer, host
#pragma once

#include <vector>

#include "stepcast/result/explanation.hpp"

namespace stepcast {

// Of the operators of the slowest rank. Without causes that take no time; nothing where the MFU is
// not known.
std::vector<WaterfallStep> waterfall(const Explanation& explanation);

}  // namespace stepcast
