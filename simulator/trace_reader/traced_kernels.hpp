// SPDX-License-Identifier: Apache-2.0
// The operators of a step's trace as measured kernels, to fit constants to: one row a shape, with
// the mean time of its calls; of a collective without its waiting, where four calls or more tell
// it.
//
// A trace says neither which pass a product belongs to, in which clock it ran, nor how attention is
// masked or shares its keys. Taken is: a forward product in the state of short work among other
// work, attention that is causal with as many heads of keys as of queries, 16 bits unless the
// operator scales its operands. Where that is wrong constants are fitted wrongly: prefer
// measurements made for it, and read the errors of the shapes that are held back.
#pragma once

#include <string>
#include <vector>

#include "stepcast/validation/measured_row.hpp"
#include "trace_reader/measured_step.hpp"

namespace stepcast {

// The rows of `step`, which ran on `device`; `file` is for messages.
std::vector<MeasuredKernel> traced_kernels(const MeasuredStep& step, const DeviceSpec& device,
                                           const std::string& file);

}  // namespace stepcast
