// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention of every kind as a profiler writes them.
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
//
//   linear attention   the autograd function of flash-linear-attention and its kernel of the state
//   sparse attention   the autograd function and kernels of TileLang's sparse MLA, as in Megatron
//   index scores       those of its lightning indexer
#include "stepcast/trace_writer/operator_event.hpp"

namespace stepcast {
namespace {

constexpr std::string_view kInt32 = "int";

TraceArgument flag(bool value) { return scalar(value ? "True" : "False"); }

// Which operand a library reads transposed: weights forward, the gradient of the output for
// weights.
std::string product_kernel(GemmPass pass, Dtype dtype, const TraceNaming& naming) {
  const std::string type(name(dtype));
  if (naming.runtime == DeviceRuntime::kHip) {
    const char* operands = pass == GemmPass::kForward ? "Alik_Bljk_"
                           : pass == GemmPass::kDgrad ? "Ailk_Bljk_"
                                                      : "Ailk_Bjlk_";
    return "Cijk_" + std::string(operands) + type + "_" + naming.architecture;
  }
  const char* operands = pass == GemmPass::kForward ? "_TNT"
                         : pass == GemmPass::kDgrad ? "_NNT"
                                                    : "_NTT";
  return "nvjet_" + naming.architecture + "_" + type + operands;
}

struct Operands {
  TraceArgument a;
  TraceArgument b;
};

// [m, k] and [k, n], of `batch` products where it is more than one, as views of what is stored.
Operands operands_of(const Gemm& work, std::string_view type) {
  std::vector<std::int64_t> batch;
  if (work.batch > 1) {
    batch.push_back(work.batch);
  }
  const auto sizes = [&batch](std::int64_t rows, std::int64_t cols) {
    std::vector<std::int64_t> all = batch;
    all.push_back(rows);
    all.push_back(cols);
    return all;
  };
  const bool first_turned = work.pass == GemmPass::kWgrad;
  const bool second_turned = work.pass == GemmPass::kForward;
  return {first_turned ? transposed(tensor(sizes(work.k, work.m), type))
                       : tensor(sizes(work.m, work.k), type),
          second_turned ? transposed(tensor(sizes(work.n, work.k), type))
                        : tensor(sizes(work.k, work.n), type)};
}

// PyTorch's number of the format of results.
std::string result_type(Dtype training) { return training == Dtype::kFp16 ? "5" : "15"; }

// As Primus-Turbo binds hipBLASLt: A, its scale, B, its scale, the format of the result, whether A,
// B and the result are transposed, and what a scale is for.
std::vector<TraceArgument> hipblaslt_arguments(const Gemm& work, const TraceNaming& naming) {
  constexpr std::int64_t kScaled = 32;  // values along k that one scale is for
  const bool packed = work.dtype == Dtype::kFp4;
  const std::int64_t k = packed ? work.k / 2 : work.k;
  const std::string_view type = tensor_type(work.dtype);
  const auto scale = [&](std::int64_t rows) {
    return packed ? tensor({rows, work.k / kScaled}, "c10::Float8_e8m0fnu")
                  : TraceArgument{{}, {}, "float", ""};
  };
  return {tensor({work.m, k}, type),
          scale(work.m),
          tensor({work.n, k}, type),
          scale(work.n),
          scalar(result_type(naming.dtype)),
          flag(false),
          flag(true),
          flag(false),
          scalar(packed ? "MXFP4" : "TENSORWISE")};
}

struct HeadShapes {
  TraceArgument q;
  TraceArgument k;
  TraceArgument v;
  TraceArgument out;

  // The operands, and what a call takes besides.
  [[nodiscard]] std::vector<TraceArgument> followed_by(
      std::initializer_list<TraceArgument> further) const {
    std::vector<TraceArgument> arguments = {q, k, v};
    arguments.insert(arguments.end(), further);
    return arguments;
  }
};

enum class HeadOrder { kHeadsFirst, kTokensFirst };

HeadShapes heads_of(const Attention& work, HeadOrder order) {
  const auto shaped = [&](std::int64_t tokens, std::int64_t heads, std::int64_t dimension) {
    const std::string_view type = tensor_type(work.dtype);
    return order == HeadOrder::kHeadsFirst ? tensor({work.batch, heads, tokens, dimension}, type)
                                           : tensor({work.batch, tokens, heads, dimension}, type);
  };
  return {shaped(work.seq_q, work.heads, work.d_qk), shaped(work.seq_kv, work.kv_heads, work.d_qk),
          shaped(work.seq_kv, work.kv_heads, work.d_v), shaped(work.seq_q, work.heads, work.d_v)};
}

TraceArgument dropout_of(const Attention& work) { return scalar(work.dropout ? "0.1" : "0.0"); }

bool is_aiter(AttentionKernel kernel) {
  return kernel == AttentionKernel::kAiter || kernel == AttentionKernel::kAiterA16;
}

TraceOperator attention_forward(const Attention& work, const TraceNaming& naming) {
  if (is_aiter(work.kernel)) {
    return {.name = "aiter::_flash_attn_forward",
            .kernel = "aiter::fmha_fwd_hd" + std::to_string(work.d_qk),
            .arguments = heads_of(work, HeadOrder::kTokensFirst)
                             .followed_by({dropout_of(work), scalar(""), flag(work.causal)})};
  }
  const HeadShapes heads = heads_of(work, HeadOrder::kHeadsFirst);
  if (is_cudnn(work.kernel)) {
    return {.name = "aten::_scaled_dot_product_cudnn_attention",
            .kernel = "cudnn_generated_fort_native_sdpa_" + naming.architecture + "_flash_fprop",
            .arguments = heads.followed_by(
                {absent(), flag(true), dropout_of(work), flag(work.causal), flag(false)})};
  }
  return {.name = "aten::_scaled_dot_product_flash_attention",
          .kernel = "flash_fwd_kernel(" + std::string(name(work.kernel)) + ")",
          .arguments = heads.followed_by({dropout_of(work), flag(work.causal), flag(false)})};
}

// The gradient of the output, the operands, the output, its statistics, two gradients, then
// dropout, scale and mask: as TraceLens takes FlashAttention's arguments, and those of aiter not
// where keys have fewer heads than queries.
TraceOperator attention_backward(const Attention& work, const TraceNaming& naming) {
  if (is_cudnn(work.kernel)) {
    const HeadShapes heads = heads_of(work, HeadOrder::kHeadsFirst);
    return {.name = "aten::_scaled_dot_product_cudnn_attention_backward",
            .kernel = "cudnn_generated_fort_native_sdpa_" + naming.architecture + "_flash_bprop",
            .arguments = {heads.out, heads.q, heads.k, heads.v, heads.out}};
  }
  const HeadShapes heads = heads_of(work, HeadOrder::kTokensFirst);
  const TraceArgument statistics = tensor({work.batch, work.heads, work.seq_q}, "float");
  std::vector<TraceArgument> arguments = {heads.out, heads.q,    heads.k, heads.v,
                                          heads.out, statistics, heads.q, heads.k};
  arguments.insert(arguments.end(), {dropout_of(work), scalar(""), flag(work.causal)});
  return {.name = "flash_attn::_flash_attn_backward",
          .kernel = is_aiter(work.kernel)
                        ? "aiter::fmha_bwd_hd" + std::to_string(work.d_qk)
                        : "flash_bwd_kernel(" + std::string(name(work.kernel)) + ")",
          .arguments = std::move(arguments)};
}

// An autograd function and its kernel, of either direction.
TraceOperator of_function(const std::string& function, Direction direction, const char* forward,
                          const char* backward) {
  const std::string node = function + "Backward";
  return {.name = is_forward(direction) ? function : node,
          .node = node,
          .kernel = is_forward(direction) ? forward : backward};
}

}  // namespace

TraceOperator product_event(const Gemm& work, const TraceNaming& naming) {
  const std::string kernel = product_kernel(work.pass, work.dtype, naming);
  const bool on_hip = naming.runtime == DeviceRuntime::kHip;
  if (work.dtype == Dtype::kFp4 || (is_quantized(work.dtype) && on_hip)) {
    return {.name = work.dtype == Dtype::kFp4 ? "primus_turbo::hipblaslt_gemm_fp4"
                                              : "primus_turbo::hipblaslt_gemm_fp8",
            .node = "ScaledGemmBackward",
            .kernel = kernel,
            .arguments = hipblaslt_arguments(work, naming)};
  }
  const Operands operands = operands_of(work, tensor_type(work.dtype));
  if (is_quantized(work.dtype)) {
    const TraceArgument scale{{}, {}, "float", ""};
    const bool fast = work.accumulation == Accumulation::kFast;
    return {.name = "aten::_scaled_mm",
            .node = "ScaledMmBackward",
            .kernel = kernel,
            .arguments = {operands.a, operands.b, scale, scale, absent(), absent(),
                          scalar(result_type(naming.dtype)), flag(fast)}};
  }
  return {.name = work.batch > 1 ? "aten::bmm" : "aten::mm",
          .node = work.batch > 1 ? "BmmBackward0" : "MmBackward0",
          .kernel = kernel,
          .arguments = {operands.a, operands.b}};
}

TraceOperator product_event(const GroupedGemm& work, const TraceNaming& naming) {
  const std::string_view type = tensor_type(work.dtype);
  TraceOperator event{.name = "primus_turbo::grouped_gemm",
                      .node = "GroupedGemmBackward",
                      .kernel = naming.runtime == DeviceRuntime::kHip
                                    ? "ck_tile::grouped_gemm_kernel"
                                    : "cutlass::device_kernel<GemmUniversal<GroupProblemShape>>"};
  if (work.pass == GemmPass::kWgrad) {
    event.name = "primus_turbo::grouped_gemm_variable_k";
    event.arguments = {tensor({work.m_total, work.n}, type), tensor({work.m_total, work.k}, type)};
    return event;
  }
  // Weights are stored [experts, outputs, inputs]: forward reads them along their last size.
  const bool forward = work.pass == GemmPass::kForward;
  event.arguments = {tensor({work.m_total, work.k}, type),
                     forward ? tensor({work.groups, work.n, work.k}, type)
                             : tensor({work.groups, work.k, work.n}, type)};
  return event;
}

TraceOperator attention_event(const Attention& work, const TraceNaming& naming) {
  const bool forward = work.direction == Direction::kForward;
  TraceOperator event =
      forward ? attention_forward(work, naming) : attention_backward(work, naming);
  event.node = is_cudnn(work.kernel)   ? "ScaledDotProductCudnnAttentionBackward0"
               : is_aiter(work.kernel) ? "FlashAttnFuncBackward"
                                       : "ScaledDotProductFlashAttentionBackward0";
  return event;
}

// --- linear and sparse attention, index scores ---------------------------------------------------

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
  TraceOperator event =
      of_function(function, work.direction, "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
                  "chunk_gated_delta_rule_bwd_kernel_dhu_blockdim64");
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
  TraceOperator event =
      of_function("SparseMLA", work.direction, "sparse_mla_fwd_kernel", "sparse_mla_bwd_kernel");
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
  TraceOperator event = of_function("LightningIndexer", work.direction, "tl_indexer_fwd_kernel",
                                    "tl_indexer_bwd_kernel");
  event.arguments = {tensor({work.batch, work.seq_q, work.heads, work.d}, type),
                     tensor({work.batch, work.seq_kv, work.d}, type),
                     tensor({work.batch, work.seq_q, work.heads}, "float")};
  if (!is_forward(work.direction)) {
    event.arguments.push_back(tensor({work.batch, work.seq_q, work.chosen}, kInt32));
  }
  return event;
}

}  // namespace stepcast
