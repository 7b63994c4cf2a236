// SPDX-License-Identifier: Apache-2.0
// Number formats of a tensor or of a matrix product.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "stepcast/base/units.hpp"

namespace stepcast {

inline constexpr Bytes kSixteenBits{2};  // a value of bf16 or fp16

enum class Dtype {
  kBf16,
  kFp16,
  kFp8,       // e4m3 or e5m2, one scale a tensor
  kFp8Block,  // e4m3, one scale a 128-element block
  kFp4,
  kFp32,
};

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;
  Bytes size;  // of one element, without scales
};

inline constexpr std::array kDtypes = {
    DtypeInfo{Dtype::kBf16, "bf16", Bytes(2)}, DtypeInfo{Dtype::kFp16, "fp16", Bytes(2)},
    DtypeInfo{Dtype::kFp8, "fp8", Bytes(1)},   DtypeInfo{Dtype::kFp8Block, "fp8_block", Bytes(1)},
    DtypeInfo{Dtype::kFp4, "fp4", Bytes(0.5)}, DtypeInfo{Dtype::kFp32, "fp32", Bytes(4)},
};

constexpr const DtypeInfo& info(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)]; }
constexpr std::string_view name(Dtype dtype) { return info(dtype).name; }
constexpr Bytes size_of(Dtype dtype) { return info(dtype).size; }
constexpr std::size_t slot(Dtype dtype) { return static_cast<std::size_t>(dtype); }

// A value for each format, empty for those that a part does not have.
template <typename T>
using PerDtype = std::array<std::optional<T>, kDtypes.size()>;

// Formats below 16 bits: operands are quantised before each product.
constexpr bool is_quantized(Dtype dtype) {
  return dtype == Dtype::kFp8 || dtype == Dtype::kFp8Block || dtype == Dtype::kFp4;
}

constexpr std::optional<Dtype> dtype_named(std::string_view text) {
  for (const DtypeInfo& entry : kDtypes) {
    if (entry.name == text) {
      return entry.dtype;
    }
  }
  return std::nullopt;
}

}  // namespace stepcast
