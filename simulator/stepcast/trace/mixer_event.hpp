// SPDX-License-Identifier: Apache-2.0
// Linear and sparse attention and index scores as a profiler writes them.
//
//   linear attention   the autograd function of flash-linear-attention and its kernel of the state
//   sparse attention   the autograd function and kernels of TileLang's sparse MLA, as in Megatron
//   index scores       those of its lightning indexer
#pragma once

#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

TraceOperator mixer_event(const LinearAttention& work);
TraceOperator mixer_event(const SparseAttention& work);
TraceOperator mixer_event(const IndexScores& work);

}  // namespace stepcast
