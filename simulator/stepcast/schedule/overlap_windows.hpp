// SPDX-License-Identifier: Apache-2.0
// What of a layer's communication the layer's own kernels hide, where its software is written so.
//
// Asynchronous tensor parallelism cuts a collective and its product into tp pieces, of which one is
// never hidden: exposed = max(0, C - G) + min(C, G) / tp. Ring attention passes keys and values on
// in cp - 1 pieces beside cp pieces of attention: exposed = (cp - 1) max(0, C / (cp - 1) - A / cp).
//
// A shared expert reads what the router reads and needs nothing of the exchange, so its kernels may
// run while the exchange is under way (Megatron-LM, --moe-shared-expert-overlap): the first half of
// them beside the exchange that comes first in the list, the rest beside the one that comes last.
//
// SonicMoE gathers tokens once more in backward (redispatch_in_backward) by copy engines, beside
// the gradients of the experts' second product; the gradient of the first one's weights waits for
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "stepcast/graph/op.hpp"
#include "stepcast/schedule/stream_task.hpp"

namespace stepcast {

// `tasks` are those of `ops`, one each, and are changed in place.
void overlap_tensor_parallel(const OpList& ops, TaskList& tasks, std::int64_t tp);
void overlap_ring_attention(const OpList& ops, TaskList& tasks, std::int64_t cp);

// Starts the second gathering of tokens, and puts a task that waits for it before its reader: from
// there on tasks are one further than their operators.
void overlap_redispatch(const OpList& ops, TaskList& tasks);

// The exchanges, by their place in the list, that kernels of a shared expert can run beside: the
// first and the last one. Empty where there is no shared expert or no exchange each way.
std::vector<std::size_t> shared_expert_windows(const OpList& ops);
// Moves the shared expert's kernels into these windows; the order of the list is kept otherwise.
void overlap_shared_expert(const OpList& ops, TaskList& tasks);

}  // namespace stepcast
