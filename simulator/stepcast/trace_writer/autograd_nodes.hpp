// SPDX-License-Identifier: Apache-2.0
// What stands around the calls of the thread of autograd, and which forward operator each belongs
// to.
//
//   aten::mm, forward thread ---------------- fwdbwd ----------------+
//                                                                    v
//   autograd::engine::evaluate_function: MmBackward0 [ MmBackward0 [ recompute_fn [ aten::mm ]
//                                                                    aten::mm  aten::mm ] ]
//
// A node runs the backward calls of one forward operator that follow each other. What is run once
// more for a node's sake stands inside of it, before its own calls, as where PyTorch checkpoints
// without a second engine: the node asks for a tensor that nobody kept. An arrow leads from a
// forward operator to the first node of its number, as Kineto draws it.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/trace_writer/device_slices.hpp"

namespace stepcast {

// Calls that a slice of the host lies around: places in DeviceSlices::slices.
struct CallRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct AutogradNode {
  CallRange around;         // with what it recomputes
  std::size_t own = 0;      // the first call that is its own
  std::int64_t arrow = 0;   // that ends at it, counted from 1; 0: none
  std::size_t forward = 0;  // the call that its arrow begins at
};

struct AutogradThread {
  std::vector<AutogradNode> nodes;
  std::vector<CallRange> recomputations;
};

// Both in the order of their calls.
AutogradThread autograd_thread(const std::vector<DeviceSlice>& slices);

}  // namespace stepcast
