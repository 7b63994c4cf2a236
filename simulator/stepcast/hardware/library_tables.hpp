// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/libraries.yaml, each described once (constant.hpp).
#pragma once

#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/library_constants.hpp"

namespace stepcast::library_tables {

inline constexpr Range<double> kTimes{0.0, 100.0};
inline constexpr Range<double> kSearchedTimes{0.01, 10.0};

using Listed = ListedKernelConstants;
inline constexpr Constant<Listed> listed(std::string_view key, std::string_view meaning,
                                         double Listed::*member) {
  return {key, "", kTimes, kSearchedTimes, meaning, member};
}
inline constexpr auto kListed = std::to_array<Constant<Listed>>(
    {{"fill_share", "", limits::kShare, kByHand,
      "share of a copy's rate that writes without reads reach", &Listed::fill_share},
     {"sort_ramps", "", kTimes, kByHand,
      "dependent round trips to memory of each kernel of a radix sort", &Listed::sort_ramps},
     listed("filter_gradient_taps", "values for each tap of a short convolution's backward",
            &Listed::filter_gradient_taps),
     listed("silu_filter_taps", "values for each tap of a short convolution with SiLU, forward",
            &Listed::silu_filter_taps),
     listed("silu_filter_values", "and those besides its taps", &Listed::silu_filter_values),
     listed("silu_filter_gradient_taps", "values for each tap of its backward",
            &Listed::silu_filter_gradient_taps),
     listed("served_fp4_values", "values of an inference library's quantisation to fp4",
            &Listed::served_fp4_values),
     {"served_fp4_rows", "", kTimes, kByHand,
      "rows of it that keep a unit busy, each walked along by a group of threads",
      &Listed::served_fp4_rows},
     listed("transpose_in_norm_values", "values of a transposed result that a norm also writes",
            &Listed::transpose_in_norm_values),
     listed("list_cast_values", "values of a conversion of a list of tensors",
            &Listed::list_cast_values),
     listed("list_copy_values", "values of a copy of a list of tensors", &Listed::list_copy_values),
     listed("index_put_values", "values of index_put_ of rows", &Listed::index_put_values),
     listed("token_sum_values", "values of the sum of a token's rows by sorted index",
            &Listed::token_sum_values),
     listed("row_sum_values", "values of rows added by sorted index, one warp a row",
            &Listed::row_sum_values),
     {"row_sum_rows", "", kTimes, kByHand, "and rows that each of them costs besides",
      &Listed::row_sum_rows},
     {"outer_product_values", "", kTimes, kByHand,
      "values of an outer product in fp32 for each of the vector, up to 32 rows of it",
      &Listed::outer_product_values},
     listed("sgd_values", "parameters of a fused Adam step that one of SGD costs",
            &Listed::sgd_values),
     listed("sgd_momentum_values", "the same of SGD with momentum", &Listed::sgd_momentum_values)});

using Passes = UnfusedPasses;
inline constexpr auto kPasses = std::to_array<Constant<Passes>>(
    {{"forward", "", kTimes, kByHand,
      "passes of 2 bytes over the scores of attention that no kernel fuses", &Passes::forward},
     {"backward", "", kTimes, kByHand, "the same of backward", &Passes::backward}});
inline constexpr auto kRowCycles = std::to_array<Constant<Passes>>(
    {{"forward", "", kTimes, kByHand,
      "cycles of a unit a score, of the softmax that keeps a row of so many keys in a warp",
      &Passes::forward},
     {"backward", "", kTimes, kByHand, "the same of backward", &Passes::backward}});
inline constexpr auto kRowSoftmax = [](auto& visit) {
  using Rows = RowSoftmaxCycles;
  visit.part("to_1024", &Rows::to_1024, parts_of(kRowCycles));
  visit.part("to_2048", &Rows::to_2048, parts_of(kRowCycles));
  visit.part("to_4096", &Rows::to_4096, parts_of(kRowCycles));
  visit.part("to_8192", &Rows::to_8192, parts_of(kRowCycles));
  visit.part("to_16384", &Rows::to_16384, parts_of(kRowCycles));
};
inline constexpr auto kUnfused = [](auto& visit) {
  using Unfused = UnfusedAttentionConstants;
  visit.part("plain", &Unfused::plain, parts_of(kPasses));
  visit.part("eager", &Unfused::eager, parts_of(kPasses));
  visit.part("sinks", &Unfused::sinks, parts_of(kPasses));
  visit.part("dropout", &Unfused::dropout, parts_of(kPasses));
  visit.part("row_softmax", &Unfused::row_softmax, kRowSoftmax);
};

inline constexpr auto kMask = std::to_array<Constant<MaskOperations>>(
    {{"forward", "", kTimes, kByHand,
      "operations of a vector lane a score that a mask given as a tensor costs",
      &MaskOperations::forward},
     {"backward", "", kTimes, kByHand, "the same of backward", &MaskOperations::backward}});

inline constexpr auto kCopies = std::to_array<Constant<CopyConstants>>(
    {{"kernel_rate", "", limits::kShare, kByHand,
      "of a kernel that keeps its units, what passes in a second beside a "
      "copy",
      &CopyConstants::kernel_rate},
     {"copy_rate", "", limits::kShare, kByHand,
      "of the copy, what passes meanwhile: it runs in the kernel's tail",
      &CopyConstants::copy_rate}});

using Clocks = ClockConstants;
inline constexpr auto kClocks = std::to_array<Constant<Clocks>>(
    {{"cool_calls", "", limits::kCounted, kByHand,
      "calls of a kernel that a measurement on a cool GPU makes before it reports",
      &Clocks::cool_calls},
     {"mixed_duty", "", limits::kShare, kByHand,
      "share of the time that measurements which follow each other run kernels, and "
      "not what prepares them",
      &Clocks::mixed_duty},
     {"surely_within", "", limits::kShare, kByHand,
      "share of the allowed power, below which a step priced roughly is taken to "
      "run at the peak clock",
      &Clocks::surely_within},
     {"spread_cut", "", Range<double>{1.0, 100.0}, kByHand,
      "standard deviations from the mean, beyond which no GPU of a job is", &Clocks::spread_cut}});

using Units = UnitChoiceConstants;
inline constexpr auto kUnitChoice = std::to_array<Constant<Units>>(
    {{"read_rate", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "of a unit, that the choice of units reckons with", &Units::read_rate},
     {"write_rate", "GB/s", limits::kGigabytesPerSecond, kByHand, "the same of writes",
      &Units::write_rate},
     {"margin", "", Range<double>{1.0, 10.0}, kByHand,
      "units that are taken over those that keep up with the links", &Units::margin},
     {"link_share", "", limits::kShare, kByHand, "of the links' wire rate that it reckons with",
      &Units::link_share},
     {"fewest", "", limits::kCounted, kByHand, "units that it takes at least", &Units::fewest}});

inline constexpr auto kParts = [](auto& visit) {
  using File = LibraryConstants;
  visit.part("memory_kernels", &File::memory_kernels, parts_of(kListed));
  visit.part("unfused_attention", &File::unfused_attention, kUnfused);
  visit.part("mask_tensor", &File::mask_tensor, parts_of(kMask));
  visit.part("copies", &File::copies, parts_of(kCopies));
  visit.part("clocks", &File::clocks, parts_of(kClocks));
  visit.part("deepep_v2_units", &File::deepep_v2_units, parts_of(kUnitChoice));
};

}  // namespace stepcast::library_tables
