// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/operator_event.hpp"

namespace stepcast {
namespace {

TraceOperator copy_in(const TrainingRecipe& training) {
  const TraceArgument tokens =
      tensor({training.micro_batch_size, training.sequence_length}, "long int");
  return {.name = "aten::copy_",
          .kernel = "Memcpy HtoD (Pinned -> Device)",
          .arguments = {tokens, tokens, scalar("True")}};
}

TraceOperator copy_out() {
  return {.name = "aten::copy_",
          .kernel = "Memcpy DtoH (Device -> Pageable)",
          .arguments = {tensor({1}, "float"), tensor({1}, "float"), scalar("False")}};
}

TraceOperator message(MessageEnd end, const StepContext& context, const TraceNaming& naming) {
  Collective work = pipeline_send(context.expansion);
  work.group.size = context.expansion.plan.pp;
  return message_event(work, end, naming);
}

}  // namespace

TraceOperator trace_operator(const Op& op, TaskRole role, const TraceNaming& naming) {
  struct Visitor {
    const Op& op;
    TaskRole role;
    const TraceNaming& naming;
    TraceOperator operator()(const Gemm& work) const { return product_event(work, naming); }
    TraceOperator operator()(const GroupedGemm& work) const { return product_event(work, naming); }
    TraceOperator operator()(const Attention& work) const { return attention_event(work, naming); }
    TraceOperator operator()(const LinearAttention& work) const { return mixer_event(work); }
    TraceOperator operator()(const SparseAttention& work) const { return mixer_event(work); }
    TraceOperator operator()(const IndexScores& work) const { return mixer_event(work); }
    TraceOperator operator()(const MemoryBound& work) const {
      return memory_event(op, work, naming);
    }
    TraceOperator operator()(const Collective& work) const {
      return collective_event(op.id, work, role, naming);
    }
    TraceOperator operator()(const ExpertExchange& work) const {
      return exchange_event(op.id, work, role, naming);
    }
  };
  return std::visit(Visitor{op, role, naming}, op.work);
}

TraceOperator further_event(FurtherOp op, const StepContext& context, const TraceNaming& naming) {
  switch (op) {
    case FurtherOp::kCopyIn:
      return copy_in(context.expansion.training);
    case FurtherOp::kCopyOut:
      return copy_out();
    case FurtherOp::kSend:
      return message(MessageEnd::kSend, context, naming);
    case FurtherOp::kReceive:
      break;
  }
  return message(MessageEnd::kReceive, context, naming);
}

}  // namespace stepcast
