// SPDX-License-Identifier: Apache-2.0
// What a part lets kernels of linear attention, of sparse attention and of an indexer reach;
// linear_attention_constants() and sparse_attention_constants() say what each number is.
//
// A profile without these sections has the numbers below: what Triton's and TileLang's kernels
// reach of the rates of an H100, taken for the part's own, and marked as assumed.
#pragma once

#include <optional>

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

struct LinearAttentionConstants {
  double chunk_efficiency = 0.4;
  double chunk_cycles = 500.0;
  double inverse_cycles = 3000.0;
  double step_cycles = 2000.0;
  double hbm_share = 0.8;
};

struct SparseAttentionConstants {
  double forward_efficiency = 0.5;
  double backward_efficiency = 0.3;
  double gather = 0.6;
  BytesPerSecond reduction_rate{1.5e12};
  double index_efficiency = 0.4;
  double choice_passes = 4.0;
};

std::span<const Constant<LinearAttentionConstants>> linear_attention_constants();
std::span<const Constant<SparseAttentionConstants>> sparse_attention_constants();

}  // namespace stepcast
