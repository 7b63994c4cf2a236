// SPDX-License-Identifier: Apache-2.0
// An operator as PyTorch's profiler would write it: what is called, on which tensors, and the
// kernel that it launches.
//
//   Gemm 8192 x 14336 x 4096, fwd, bf16, CUDA  ->  aten::mm([8192, 4096], [4096, 14336]),
//                                                  kernel nvjet_sm90_bf16_TNT
//
// Names are those by which TraceLens and traces/step_categories.hpp tell operators apart; where
// PyTorch has no operator of its own for what runs, the name says what it is: stepcast::permute.
// Kernels are called after their library and what they compute. What a trace tells beyond that, a
// tile or a ring, the simulator has no name for, and none is made up. Assumes row-major tensors of
// one piece, and weights stored as [outputs, inputs].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/architecture.hpp"
#include "stepcast/schedule/step_listener.hpp"

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
  std::string name;  // of the operator: "aten::mm"
  std::string node;  // of autograd that runs it in backward: "MmBackward0"
  std::string kernel;
  std::vector<TraceArgument> arguments;
  std::optional<TraceCollective> collective;
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

}  // namespace stepcast
