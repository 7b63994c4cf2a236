// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/operator_event.hpp"

#include "stepcast/trace/collective_event.hpp"
#include "stepcast/trace/memory_event.hpp"
#include "stepcast/trace/mixer_event.hpp"
#include "stepcast/trace/product_event.hpp"

namespace stepcast {

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
    TraceOperator operator()(const MemoryBound& work) const { return memory_event(work, naming); }
    TraceOperator operator()(const Collective& work) const {
      return collective_event(op.id, work, role, naming);
    }
    TraceOperator operator()(const ExpertExchange& work) const {
      return exchange_event(op.id, work, role, naming);
    }
  };
  return std::visit(Visitor{op, role, naming}, op.work);
}

}  // namespace stepcast
