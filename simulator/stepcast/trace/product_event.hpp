// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention as a profiler writes them.
//
//   forward            aten::mm        [m, k] x [k, n], the second a view of the weights [n, k]
//   input gradient     aten::mm        [m, k] x [k, n], both as they are stored
//   weight gradient    aten::mm        [m, k] x [k, n], the first a view of the gradient [k, m]
//   8 bits             aten::_scaled_mm, or primus_turbo::hipblaslt_gemm_fp8 on HIP
//   4 bits             primus_turbo::hipblaslt_gemm_fp4, two values a byte along k
//   experts            primus_turbo::grouped_gemm [rows, k] x [experts, n, k], and of weights
//                      primus_turbo::grouped_gemm_variable_k [rows, n] x [rows, k]
//   attention          q, k, v as [batch, heads, tokens, dimension], or [batch, tokens, heads,
//                      dimension] where the library has them so
#pragma once

#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

TraceOperator product_event(const Gemm& work, const TraceNaming& naming);
TraceOperator product_event(const GroupedGemm& work, const TraceNaming& naming);
TraceOperator attention_event(const Attention& work, const TraceNaming& naming);

}  // namespace stepcast
