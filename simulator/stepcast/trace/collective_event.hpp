// SPDX-License-Identifier: Apache-2.0
// Communication as a profiler writes it: record_param_comms with what PyTorch notes of a
// collective, or MoEDispatch and MoECombine where tokens go to experts and back.
//
// An exchange is given the tensor that TraceLens counts, [tokens, hidden] or what arrived of them
// (dispatchers/expert_traffic.hpp). Its kernel is called a message of NCCL whatever library sends
// it, since that is what readers of traces take for communication; behind it stands who sends it.
#pragma once

#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

TraceOperator collective_event(OpId id, const Collective& work, TaskRole role,
                               const TraceNaming& naming);
TraceOperator exchange_event(OpId id, const ExpertExchange& work, TaskRole role,
                             const TraceNaming& naming);

// A message to the next pipeline stage, or from the one before.
enum class MessageEnd { kSend, kReceive };
TraceOperator message_event(const Collective& work, MessageEnd end, const TraceNaming& naming);

}  // namespace stepcast
