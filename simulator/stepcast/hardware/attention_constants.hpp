// SPDX-License-Identifier: Apache-2.0
// What a part lets a fused attention kernel reach. What belongs to a named kernel (tiles, overlap)
// lies beside the model, in backends/attention/flash_kernel.cpp.
//
//   cycles of a tile = matrix cycles / efficiency + what of its softmax is not hidden
//   cycles of a workgroup = group_cycles + its tiles
#pragma once

#include <optional>

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

struct AttentionConstants {
  // Share of the matrix rate that the products hold in a steady loop, without any softmax, in the
  // best kernel of the part: issue gaps, dependent products, operands from the local memory.
  double forward_efficiency = 1.0;
  double backward_efficiency = 1.0;
  // Clock cycles from the start of a workgroup to its first product, and from its last product to
  // its end: the latency of the first loads, the pipeline's fill and drain, the store of results.
  double group_cycles = 0.0;
  // Rate, of the whole part, at which the computing waves add gradients of queries to memory. Left
  // out where a copy engine does it in the background (NVIDIA).
  std::optional<BytesPerSecond> reduction_rate;
};

AttentionConstants read_attention_constants(SourcedReader reader);

}  // namespace stepcast
