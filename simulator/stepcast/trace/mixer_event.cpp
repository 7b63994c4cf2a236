// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace/mixer_event.hpp"

#include "stepcast/trace/trace_types.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kInt32 = "int";

}  // namespace

// q, k, v, decays, write strengths; backward the gradient of the output before them.
TraceOperator mixer_event(const LinearAttention& work) {
  const bool channels = work.rule == DeltaRule::kKimiDelta;
  const std::string function = channels ? "ChunkKDAFunction" : "ChunkGatedDeltaRuleFunction";
  const std::string_view type = tensor_type(work.dtype);
  const TraceArgument key = tensor({work.batch, work.seq, work.qk_heads, work.d_k}, type);
  const TraceArgument value = tensor({work.batch, work.seq, work.heads, work.d_v}, type);
  TraceArgument decay = tensor({work.batch, work.seq, work.heads}, "float");
  if (channels) {
    decay = tensor({work.batch, work.seq, work.heads, work.d_k}, "float");
  }
  TraceOperator event;
  event.node = function + "Backward";
  event.name = is_forward(work.direction) ? function : event.node;
  event.kernel = is_forward(work.direction) ? "chunk_gated_delta_rule_fwd_kernel_h_blockdim64"
                                            : "chunk_gated_delta_rule_bwd_kernel_dhu_blockdim64";
  if (!is_forward(work.direction)) {
    event.arguments.push_back(value);
  }
  event.arguments.insert(event.arguments.end(), {key, key, value, decay,
                                                 tensor({work.batch, work.seq, work.heads}, type)});
  return event;
}

// q, keys, the list of chosen keys; backward the gradient of the output before them.
TraceOperator mixer_event(const SparseAttention& work) {
  const std::string_view type = tensor_type(work.dtype);
  TraceOperator event;
  event.node = "SparseMLABackward";
  event.name = is_forward(work.direction) ? "SparseMLA" : event.node;
  event.kernel = is_forward(work.direction) ? "sparse_mla_fwd_kernel" : "sparse_mla_bwd_kernel";
  if (!is_forward(work.direction)) {
    event.arguments.push_back(tensor({work.batch, work.seq_q, work.heads, work.d_v}, type));
  }
  event.arguments.insert(event.arguments.end(),
                         {tensor({work.batch, work.seq_q, work.heads, work.d_qk}, type),
                          tensor({work.batch, work.seq_kv, work.kv_heads, work.d_qk}, type),
                          tensor({work.batch, work.seq_q, work.kv_heads, work.chosen}, kInt32)});
  return event;
}

// q, k, weights; backward also the list of chosen keys.
TraceOperator mixer_event(const IndexScores& work) {
  const std::string_view type = tensor_type(work.dtype);
  TraceOperator event;
  event.node = "LightningIndexerBackward";
  event.name = is_forward(work.direction) ? "LightningIndexer" : event.node;
  event.kernel = is_forward(work.direction) ? "tl_indexer_fwd_kernel" : "tl_indexer_bwd_kernel";
  event.arguments = {tensor({work.batch, work.seq_q, work.heads, work.d}, type),
                     tensor({work.batch, work.seq_kv, work.d}, type),
                     tensor({work.batch, work.seq_q, work.heads}, "float")};
  if (!is_forward(work.direction)) {
    event.arguments.push_back(tensor({work.batch, work.seq_q, work.chosen}, kInt32));
  }
  return event;
}

}  // namespace stepcast
