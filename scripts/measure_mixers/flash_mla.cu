// SPDX-License-Identifier: Apache-2.0
// FlashMLA's sparse prefill of Hopper behind a C interface: 576 dimensions of queries and keys, one
// key head.
#include "sm90/prefill/sparse/phase1.h"

extern "C" void sparse_prefill(int queries, int keys, int heads, int chosen, float scale, void* q,
                               void* kv, void* indices, void* out, void* maxima, void* lse,
                               void* stream) {
  constexpr float kLog2E = 1.44269504F;
  SparseAttnFwdParams p{};
  p.s_q = queries;
  p.s_kv = keys;
  p.h_q = heads;
  p.h_kv = 1;
  p.d_qk = 576;
  p.d_v = 512;
  p.topk = chosen;
  p.sm_scale = scale;
  p.sm_scale_div_log2 = scale * kLog2E;
  p.q = static_cast<cutlass::bfloat16_t*>(q);
  p.kv = static_cast<cutlass::bfloat16_t*>(kv);
  p.indices = static_cast<int*>(indices);
  p.stride_q_s_q = heads * 576;
  p.stride_q_h_q = 576;
  p.stride_kv_s_kv = 576;
  p.stride_kv_h_kv = 576;
  p.stride_indices_s_q = chosen;
  p.stride_indices_h_kv = chosen;
  p.out = static_cast<cutlass::bfloat16_t*>(out);
  p.max_logits = static_cast<float*>(maxima);
  p.lse = static_cast<float*>(lse);
  p.num_sm = 132;
  p.stream = static_cast<cudaStream_t>(stream);
  sm90::fwd::run_fwd_phase1_kernel<576, false>(p);
}
