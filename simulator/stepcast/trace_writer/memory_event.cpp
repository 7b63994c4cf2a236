// SPDX-License-Identifier: Apache-2.0
// Kernels that memory bounds as a profiler writes them.
//
// A kind that PyTorch or a library has an operator for is called after it; any other is called
// after the kind, stepcast::permute, with a kernel of the family that its frameworks name such
// kernels after. A generated kernel is called as torch.compile calls its own.
#include "stepcast/trace_writer/operator_event.hpp"

#include <algorithm>
#include <array>

#include "stepcast/model/op_purpose.hpp"

namespace stepcast {
namespace {

using Kind = MemoryBoundKind;

// Operators of PyTorch, TransformerEngine and Liger that some kinds are known as.
struct KnownOperator {
  Kind kind;
  std::string_view forward;
  std::string_view backward;
  std::string_view node;
};
constexpr auto kKnownOperators = std::to_array<KnownOperator>({
    {Kind::kNorm, "aten::_fused_rms_norm", "aten::_fused_rms_norm_backward",
     "FusedRmsNormBackward0"},
    {Kind::kLayerNorm, "aten::native_layer_norm", "aten::native_layer_norm_backward",
     "NativeLayerNormBackward0"},
    {Kind::kRope, "FusedRoPEFunc", "FusedRoPEFuncBackward", "FusedRoPEFuncBackward"},
    {Kind::kCrossEntropy, "CrossEntropyFunction", "CrossEntropyFunctionBackward",
     "CrossEntropyFunctionBackward"},
    {Kind::kParallelCrossEntropy, "CrossEntropyFunction", "CrossEntropyFunctionBackward",
     "CrossEntropyFunctionBackward"},
    {Kind::kGatedActivation, "LigerSiLUMulFunction", "LigerSiLUMulFunctionBackward",
     "LigerSiLUMulFunctionBackward"},
    {Kind::kResidual, "aten::add", "aten::add", "AddBackward0"},
    {Kind::kDropout, "aten::native_dropout", "aten::native_dropout_backward",
     "NativeDropoutBackward0"},
    {Kind::kEmbedding, "aten::embedding", "aten::embedding_dense_backward", "EmbeddingBackward0"},
    {Kind::kCast, "aten::copy_", "aten::copy_", "ToCopyBackward0"},
    {Kind::kCastUp, "aten::copy_", "aten::copy_", "ToCopyBackward0"},
    {Kind::kCopy, "aten::copy_", "aten::copy_", "CopyBackwards"},
    {Kind::kStridedCopy, "aten::copy_", "aten::copy_", "CopyBackwards"},
    {Kind::kListCast, "aten::_foreach_copy_", "aten::_foreach_copy_", ""},
    {Kind::kListCopy, "aten::_foreach_copy_", "aten::_foreach_copy_", ""},
    {Kind::kConcatenate, "fsdp::chunk_cat", "fsdp::chunk_cat", ""},
    {Kind::kOptimizer, "aten::_fused_adamw_", "aten::_fused_adamw_", ""},
});

const KnownOperator* known_as(Kind kind) {
  const auto* const found = std::ranges::find(kKnownOperators, kind, &KnownOperator::kind);
  return found == kKnownOperators.end() ? nullptr : found;
}

std::string own_name(const MemoryBound& work) {
  const bool backward = work.direction == Direction::kBackward;
  return "stepcast::" + std::string(name(work.kind)) + (backward ? "_backward" : "");
}

std::string multi_tensor_kernel(std::string_view functor) {
  return "void at::native::(anonymous namespace)::multi_tensor_apply_kernel" + std::string(functor);
}

// What surrounds the model copies lists of tensors.
std::string copy_kernel(Kind kind, Block block) {
  switch (kind) {
    case Kind::kConcatenate:
      return "void at::native::detail::chunk_cat_cuda_kernel<float, c10::BFloat16>";
    case Kind::kListCopy:
    case Kind::kListCast:
      return multi_tensor_kernel("<TensorListMetadata<2>, CopyFunctor>");
    default:
      return is_of_model(block) ? "void at::native::elementwise_kernel<128, 4, "
                                  "at::native::direct_copy_kernel_cuda>"
                                : multi_tensor_kernel("<TensorListMetadata<2>, CopyFunctor>");
  }
}

// The operators that FSDP and the clipping of gradients are known by.
struct NamedOperator {
  OpId id;
  std::string_view published;
};
constexpr auto kNamedOperators = std::to_array<NamedOperator>({
    {OpId::kFsdpCast, "fsdp::all_gather_copy_in"},
    {OpId::kFsdpCopyIn, "fsdp::all_gather_copy_in"},
    {OpId::kFsdpCopyOut, "fsdp::split_with_sizes_copy"},
    {OpId::kFsdpConcatenate, "fsdp::chunk_cat"},
    {OpId::kFsdpQuotient, "FSDP::post_backward_reduce"},
    {OpId::kFsdpStore, "FSDP::post_backward_reduce"},
    {OpId::kGradientNorm, "aten::_foreach_norm"},
    {OpId::kGradientClip, "aten::_foreach_mul_"},
});

// Of a pass that is not told by its kind.
std::string purpose_kernel(const Op& op, const MemoryBound& work) {
  const std::string kind = std::string(name(work.kind));
  if (op.id == OpId::kGradientNorm) {
    return multi_tensor_kernel("<TensorListMetadata<1>, LpNormFunctor>");
  }
  if (op.id == OpId::kGradientClip) {
    return multi_tensor_kernel("<TensorListMetadata<1>, BinaryOpScalarTensorFunctor>");
  }
  if (purpose_of(op.id) == OpPurpose::kExpertRows) {
    return work.implementation == Implementation::kCompiled
               ? "triton_poi_fused_expert_rows_" + kind +
                     (work.direction == Direction::kBackward ? "_backward" : "")
               : "void at::native::vectorized_elementwise_kernel<4, expert_rows::" + kind + ">";
  }
  return {};
}

std::string kernel_of(const Op& op, const MemoryBound& work) {
  const KernelFamily family = family_of(work.kind);
  if (family == KernelFamily::kUpdate) {
    return multi_tensor_kernel("<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor>");
  }
  if (std::string named = purpose_kernel(op, work); !named.empty()) {
    return named;
  }
  if (work.implementation == Implementation::kCompiled) {
    return "triton_poi_fused_" + std::string(name(work.kind)) +
           (work.direction == Direction::kBackward ? "_backward" : "");
  }
  return family == KernelFamily::kCopy
             ? copy_kernel(work.kind, op.block)
             : "void at::native::vectorized_elementwise_kernel<4, " + own_name(work) + ">";
}

std::string one_size(std::int64_t size) { return "[" + std::to_string(size) + "]"; }

// The tensors of a norm: x, scale and epsilon; or dy, x, statistics and scale.
std::vector<TraceArgument> norm_arguments(const MemoryBound& work, std::string_view type) {
  const TraceArgument x = tensor({work.rows, work.cols}, type);
  const TraceArgument scale = tensor({work.cols}, type);
  const TraceArgument statistics = tensor({work.rows, 1}, "float");
  const bool with_mean = work.kind == Kind::kLayerNorm;
  std::vector<TraceArgument> arguments;
  if (work.direction == Direction::kForward) {
    arguments = {x, list(one_size(work.cols)), scale};
    if (with_mean) {
      arguments.push_back(scale);
    }
    arguments.push_back(scalar("1e-05"));
    return arguments;
  }
  arguments = {x, x, list(one_size(work.cols)), statistics};
  if (with_mean) {
    arguments.push_back(statistics);
  }
  arguments.push_back(scale);
  if (with_mean) {
    arguments.push_back(scale);
  }
  arguments.push_back(list(with_mean ? "[True, True, True]" : "[True, True]"));
  return arguments;
}

std::vector<TraceArgument> arguments_of(const MemoryBound& work, const TraceNaming& naming) {
  const std::string_view type = tensor_type(work.element, naming);
  const TraceArgument x = tensor({work.rows, work.cols}, type);
  switch (work.kind) {
    case Kind::kNorm:
    case Kind::kLayerNorm:
      return norm_arguments(work, type);
    case Kind::kRope:
      return {tensor({work.rows, 1, 1, work.cols}, type),
              tensor({work.rows, 1, 1, work.cols}, "float")};
    case Kind::kCrossEntropy:
    case Kind::kParallelCrossEntropy:
      return {tensor({work.rows, 1, work.cols}, type), tensor({work.rows, 1}, "long int")};
    case Kind::kGatedActivation:
      return {x, x};
    case Kind::kResidual:
      return {x, x, scalar("1")};
    case Kind::kCast:
      return {x, tensor({work.rows, work.cols}, "float"), scalar("False")};
    case Kind::kCastUp:
      return {tensor({work.rows, work.cols}, "float"), x, scalar("False")};
    case Kind::kCopy:
    case Kind::kStridedCopy:
      return {x, x, scalar("False")};
    default:
      return {x};
  }
}

}  // namespace

TraceOperator memory_event(const Op& op, const MemoryBound& work, const TraceNaming& naming) {
  TraceOperator event;
  event.kernel = kernel_of(op, work);
  event.arguments = arguments_of(work, naming);
  const KnownOperator* known = known_as(work.kind);
  const auto* const named = std::ranges::find(kNamedOperators, op.id, &NamedOperator::id);
  const bool backward = work.direction == Direction::kBackward;
  const bool generated = work.implementation == Implementation::kCompiled &&
                         family_of(work.kind) != KernelFamily::kUpdate;
  if (named != kNamedOperators.end()) {
    event.name = named->published;
  } else if (generated) {
    event.name = event.kernel;
    event.node = "CompiledFunctionBackward";
  } else if (known != nullptr) {
    event.name = backward ? known->backward : known->forward;
    event.node = known->node;
  } else {
    event.name = own_name(work);
    event.node = "stepcast::" + std::string(name(work.kind)) + "Backward";
  }
  return event;
}

}  // namespace stepcast
