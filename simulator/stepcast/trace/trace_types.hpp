// SPDX-License-Identifier: Apache-2.0
// The formats of tensors as PyTorch's profiler writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/trace/operator_event.hpp"

namespace stepcast {

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
