// SPDX-License-Identifier: Apache-2.0
// What of a layer's communication the layer's own kernels hide, where its software is written so.
//
// Asynchronous tensor parallelism cuts a collective and its product into tp pieces, of which one is
// never hidden: exposed = max(0, C - G) + min(C, G) / tp.
//
// Ring attention passes keys and values, and in backward their gradients, on beside the step of
// attention that reads what is there: what is sent just before a step is waited for where the next
// is sent, where the next step reads it, or where gradients of keys are summed.
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

#include "stepcast/model/op.hpp"
#include "stepcast/schedule/stream_task.hpp"

namespace stepcast {

// Whether a product makes the gradient of weights.
bool gives_weights(const Op& op);

// `tasks` are those of `ops`, one each, and are changed in place.
void overlap_tensor_parallel(const OpList& ops, TaskList& tasks, std::int64_t tp);

// What ring attention sends just before a step, by its place in the list.
std::vector<std::size_t> sends_beside_steps(const OpList& ops);
// Starts these, and puts tasks that wait for them, with a place among the operators, into both
// lists.
void overlap_ring_attention(OpList& ops, TaskList& tasks);

// Of a backward: moves gradients of weights as SoftwareSpec::delays_weight_gradients says. The
// exchange of the gradients of tokens is started, and a task that waits for it gets a place in both
// lists.
void delay_weight_gradients(OpList& ops, TaskList& tasks);

// Starts the second gathering of tokens, and puts a task that waits for it before its reader: from
// there on tasks are one further than their operators.
void overlap_redispatch(const OpList& ops, TaskList& tasks);

// The exchanges, by their place in the list, that kernels of a shared expert can run beside: the
// first and the last one. Empty where there is no shared expert or no exchange each way.
std::vector<std::size_t> shared_expert_windows(const OpList& ops);
// Moves the shared expert's kernels into these windows; the order of the list is kept otherwise.
void overlap_shared_expert(const OpList& ops, TaskList& tasks);

}  // namespace stepcast
