// SPDX-License-Identifier: Apache-2.0
// An operator as PyTorch's profiler would write it: what is called, on which tensors, and the
// kernel that it launches.
//
//   Gemm 8192 x 14336 x 4096, fwd, bf16, CUDA  ->  aten::mm([8192, 4096], [4096, 14336]),
//                                                  kernel nvjet_sm90_bf16_TNT
//
// Names are those by which TraceLens and trace_reader/step_categories.hpp tell operators apart;
// where PyTorch has no operator of its own for what runs, the name says what it is:
// stepcast::permute. Kernels are called after their library and what they compute. What a trace
// tells beyond that, a tile or a ring, the simulator has no name for, and none is made up. Assumes
// row-major tensors of one piece, and weights stored as [outputs, inputs].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/hardware/architecture.hpp"
#include "stepcast/model/op.hpp"
#include "stepcast/schedule/step_listener.hpp"
#include "stepcast/schedule/step_timer.hpp"
#include "stepcast/trace_writer/device_slices.hpp"

namespace stepcast {

// A tensor, or a scalar: no sizes, and its value as text.
struct TraceArgument {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::string type;
  std::string value;
};

// What the profiler notes of a collective, beside the group that runs it.
struct TraceCollective {
  std::string name;  // "_allgather_base"
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::string element;  // "BFloat16"
  std::vector<std::int64_t> in_split;
  std::vector<std::int64_t> out_split;
  ProcessGroup group;
  Axis axis = Axis::kData;
};

struct TraceOperator {
  std::string name{};  // of the operator: "aten::mm"
  std::string node{};  // of autograd that runs it in backward: "MmBackward0"
  std::string kernel{};
  std::vector<TraceArgument> arguments{};
  std::optional<TraceCollective> collective{};
};

// What of a step the names depend on, beside the operator.
struct TraceNaming {
  DeviceRuntime runtime = DeviceRuntime::kCuda;
  std::string architecture;      // "sm90"
  Dtype dtype = Dtype::kBf16;    // of training; its 16-bit format is that of tensors
  Bytes reduced_gradient{4};     // an element
  std::int64_t hidden = 1;       // of the model
  std::int64_t domain_size = 1;  // GPUs of a scale-up domain
};

TraceOperator trace_operator(const Op& op, TaskRole role, const TraceNaming& naming);

// What a step runs besides the operators of its passes. The copies are of a micro-batch's tokens
// and of one number; a message goes along a group of all pipeline ranks.
TraceOperator further_event(FurtherOp op, const StepContext& context, const TraceNaming& naming);

// --- of one kind of operator: what is written how stands in the file of each ---------------------

TraceOperator product_event(const Gemm& work, const TraceNaming& naming);
TraceOperator product_event(const GroupedGemm& work, const TraceNaming& naming);
TraceOperator attention_event(const Attention& work, const TraceNaming& naming);
TraceOperator mixer_event(const LinearAttention& work);
TraceOperator mixer_event(const SparseAttention& work);
TraceOperator mixer_event(const IndexScores& work);
TraceOperator memory_event(const Op& op, const MemoryBound& work, const TraceNaming& naming);
TraceOperator collective_event(OpId id, const Collective& work, TaskRole role,
                               const TraceNaming& naming);
TraceOperator exchange_event(OpId id, const ExpertExchange& work, TaskRole role,
                             const TraceNaming& naming);

// A message to the next pipeline stage, or from the one before.
enum class MessageEnd { kSend, kReceive };
TraceOperator message_event(const Collective& work, MessageEnd end, const TraceNaming& naming);

// --- formats of tensors as the profiler writes them ----------------------------------------------

// Of the 16-bit format that training runs in.
inline std::string_view sixteen_bit_type(Dtype training) {
  return training == Dtype::kFp16 ? "c10::Half" : "c10::BFloat16";
}

inline std::string_view tensor_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBf16:
      return "c10::BFloat16";
    case Dtype::kFp16:
      return "c10::Half";
    case Dtype::kFp8:
    case Dtype::kFp8Block:
      return "c10::Float8_e4m3fn";
    case Dtype::kFp4:
      return "c10::Float4_e2m1fn_x2";
    case Dtype::kFp32:
      break;
  }
  return "float";
}

inline std::string_view tensor_type(Bytes element, const TraceNaming& naming) {
  if (element < kSixteenBits) {
    return "c10::Float8_e4m3fn";
  }
  return element == kSixteenBits ? sixteen_bit_type(naming.dtype) : "float";
}

// Row-major.
inline TraceArgument tensor(std::vector<std::int64_t> sizes, std::string_view type) {
  TraceArgument argument{std::move(sizes), {}, std::string(type), ""};
  argument.strides.assign(argument.sizes.size(), 1);
  for (std::size_t i = argument.sizes.size(); i-- > 1;) {
    argument.strides[i - 1] = argument.strides[i] * argument.sizes[i];
  }
  return argument;
}

// The same memory with its last two sizes exchanged: a view of rows x cols is cols x rows.
inline TraceArgument transposed(TraceArgument argument) {
  const std::size_t last = argument.sizes.size() - 1;
  std::swap(argument.sizes[last - 1], argument.sizes[last]);
  std::swap(argument.strides[last - 1], argument.strides[last]);
  return argument;
}

inline TraceArgument scalar(std::string value) { return {{}, {}, "Scalar", std::move(value)}; }
inline TraceArgument absent() { return {}; }
inline TraceArgument list(std::string value) { return {{}, {}, "ScalarList", std::move(value)}; }

}  // namespace stepcast
