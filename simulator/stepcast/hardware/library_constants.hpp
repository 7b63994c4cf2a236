// SPDX-License-Identifier: Apache-2.0
// What kernels of libraries, and those who measure them, take on every GPU alike:
// hardware_profiles/libraries.yaml. library_tables.hpp says what each number is.
#pragma once

#include <cstdint>

#include "stepcast/base/units.hpp"

namespace stepcast {

// Of kernels bound by memory, what the bytes that they move do not tell
// (backends/memory_bound/memory_kernels.cpp). Values are those that a kernel works on for each of
// its tensor, of the path's cycles; taps those of a filter, for each of them.
struct ListedKernelConstants {
  double fill_share = 1.0;
  double sort_ramps = 1.0;
  double filter_gradient_taps = 0.0;
  double silu_filter_taps = 0.0;
  double silu_filter_values = 0.0;
  double silu_filter_gradient_taps = 0.0;
  double served_fp4_values = 1.0;
  double served_fp4_rows = 0.0;
  double transpose_in_norm_values = 1.0;
  double list_cast_values = 1.0;
  double list_copy_values = 1.0;
  double index_put_values = 1.0;
  double token_sum_values = 1.0;
  double row_sum_values = 1.0;
  double row_sum_rows = 0.0;
  double outer_product_values = 1.0;
  double sgd_values = 1.0;
  double sgd_momentum_values = 1.0;
};

// Passes of 2 bytes over the scores of attention without a fused kernel
// (backends/attention/unfused.hpp).
struct UnfusedPasses {
  double forward = 0.0;
  double backward = 0.0;
};
// Cycles of a compute unit a score of the one kernel that scales, masks and takes the softmax,
// which keeps a row in the registers of a warp: the longer the row, the fewer rows a unit holds.
// Rows are padded to a power of two, for each of which there is a kernel of its own.
struct RowSoftmaxCycles {
  UnfusedPasses to_1024;
  UnfusedPasses to_2048;
  UnfusedPasses to_4096;
  UnfusedPasses to_8192;
  UnfusedPasses to_16384;
};
// Operations of the vector lanes a score, in fp32, for a mask that is a tensor: its value read,
// converted, added (backends/attention/tile.cpp).
struct MaskOperations {
  double forward = 0.0;
  double backward = 0.0;
};
struct UnfusedAttentionConstants {
  UnfusedPasses plain;
  UnfusedPasses eager;
  UnfusedPasses sinks;
  UnfusedPasses dropout;
  RowSoftmaxCycles row_softmax;
};

// A copy beside a kernel that keeps its units: what passes of each in a second.
struct CopyConstants {
  double kernel_rate = 1.0;
  double copy_rate = 1.0;
};

// What clocks are solved with besides the power of a part (cost/power_state.hpp).
struct ClockConstants {
  double cool_calls = 1.0;
  double mixed_duty = 1.0;
  double surely_within = 1.0;
  double spread_cut = 1.0;
};

// By which DeepEP's kernels of version 2 choose their units (dispatchers/deepep_v2.cpp).
struct UnitChoiceConstants {
  BytesPerSecond read_rate;
  BytesPerSecond write_rate;
  double margin = 1.0;
  double link_share = 1.0;
  std::int64_t fewest = 0;
};

struct LibraryConstants {
  ListedKernelConstants memory_kernels;
  UnfusedAttentionConstants unfused_attention;
  MaskOperations mask_tensor;
  CopyConstants copies;
  ClockConstants clocks;
  UnitChoiceConstants deepep_v2_units;
};

}  // namespace stepcast
