// SPDX-License-Identifier: Apache-2.0
// Kernels that memory bounds as a profiler writes them.
//
// A kind that PyTorch or a library has an operator for is called after it; any other is called
// after the kind, stepcast::permute, with a kernel of the family that its frameworks name such
// kernels after. A generated kernel is called as torch.compile calls its own.
#pragma once

#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

TraceOperator memory_event(const MemoryBound& work, const TraceNaming& naming);

}  // namespace stepcast
