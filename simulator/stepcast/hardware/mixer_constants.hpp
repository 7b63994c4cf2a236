// SPDX-License-Identifier: Apache-2.0
// What a part lets kernels of linear attention, of sparse attention and of an indexer reach;
// linear_attention_constants() and sparse_attention_constants() say what each number is.
//
// They hold the kernels of a library as much as the part: Triton's and TileLang's reach a small
// share of the matrix rate, set by registers and by waits between dependent products. A profile
// without these sections has the numbers of one H100 (hardware_profiles/kernels/gh100.yaml).
#pragma once

#include "stepcast/base/units.hpp"
#include "stepcast/hardware/constant.hpp"

namespace stepcast {

struct LinearAttentionConstants {
  double chunk_efficiency = 0.118;
  double gradient_efficiency = 0.0525;
  double inverse_cycles = 4260.0;
  double decay_cycles = 0.8;
  double step_cycles = 675.0;
  double step_channel_cycles = 4.4;
  double hbm_share = 0.95;
};

struct SparseAttentionConstants {
  double forward_efficiency = 0.72;
  double backward_efficiency = 0.29;
  double teacher_efficiency = 0.115;
  BytesPerSecond reduction_rate{2.1e12};
  double index_efficiency = 0.5;
  double choice_passes = 8.3;
  double choice_cycles = 16'300.0;
};

std::span<const Constant<LinearAttentionConstants>> linear_attention_constants();
std::span<const Constant<SparseAttentionConstants>> sparse_attention_constants();

}  // namespace stepcast
