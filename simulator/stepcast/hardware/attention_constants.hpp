// SPDX-License-Identifier: Apache-2.0
// What a part lets a fused attention kernel reach; attention_constants() says what each number is.
// What belongs to a named kernel (tiles, overlap) is in attention_library.hpp.
//
//   cycles of a tile = matrix cycles / efficiency + what of its softmax is not hidden
//   cycles of a workgroup = group_cycles + its tiles
//
// The efficiency holds issue gaps, dependent products and operands from the local memory; the
// cycles of a workgroup the latency of its first loads, the pipeline's fill and drain and the store
// of its results.
#pragma once

#include <optional>

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

struct AttentionConstants {
  double forward_efficiency = 1.0;
  double backward_efficiency = 1.0;
  double group_cycles = 0.0;
  std::optional<BytesPerSecond> reduction_rate;
};

std::span<const Constant<AttentionConstants>> attention_constants();

}  // namespace stepcast
