// SPDX-License-Identifier: Apache-2.0
// The constants of hardware_profiles/kernels, each described once (constant.hpp).
#pragma once

#include <array>

#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/kernel_constants.hpp"

namespace stepcast::kernel_tables {

inline constexpr Range<double> kCycles{0.0, 1e5};
inline constexpr Range<double> kEnergy{0.0, 1e4};

using Power = PowerConstants;
inline constexpr std::array kMatrixEnergies = {FormatSearch{Dtype::kBf16, {0.3, 40.0}},
                                               FormatSearch{Dtype::kFp8, {0.3, 40.0}},
                                               FormatSearch{Dtype::kFp4, {0.3, 60.0}}};
inline constexpr auto kPower = std::to_array<Constant<Power>>(
    {Constant<Power>{"matrix_energy", "nJ", kEnergy, kByHand,
                     "energy of a cycle of one unit's matrix pipes at the reference clock, on "
                     "random operands; that of bf16 where a format is missing",
                     &Power::matrix_energy, Presence::kRequired, kMatrixEnergies}
         // Of a matrix cycle, which does so many more FLOPs.
         .with(&ClusterScale::matrix_rate),
     {"precise_accumulation", "", Range<double>{1.0, 2.0}, kByHand,
      "energy of a matrix cycle of fp8 whose sums are kept in full precision, over "
      "that of one whose are not",
      &Power::precise_accumulation, kIfGiven},
     {"reference_clock", "MHz", limits::kMegahertz, kByHand, "at which the energies hold",
      &Power::reference_clock},
     {"voltage_exponent", "", Range<double>{0.0, 4.0}, Range<double>{1.0, 3.0},
      "that energy grows with (clock / reference clock) to this power; near 2",
      &Power::voltage_exponent},
     {"hbm_energy_per_byte", "pJ", kEnergy, Range<double>{20.0, 80.0},
      "energy of moving a byte between HBM and a unit, the same at every clock",
      &Power::hbm_energy},
     {"burst_ratio", "", Range<double>{1.0, 3.0}, Range<double>{1.0, 2.5},
      "power of a short burst over the limit of the average", &Power::burst_ratio},
     {"clock_spread", "", Range<double>{0.0, 0.1}, kByHand,
      "standard deviation between GPUs of the clock at the limit, of it", &Power::clock_spread},
     {"burst_energy", "J", kEnergy, Range<double>{0.5, 200.0},
      "energy above the limit that a burst may draw after a pause", &Power::burst_energy}});

using Gemms = GemmConstants;
inline constexpr std::array kEfficiencies = {
    FormatSearch{Dtype::kBf16, {0.5, 1.0}}, FormatSearch{Dtype::kFp8, {0.4, 1.0}},
    FormatSearch{Dtype::kFp8Block, {0.3, 1.0}}, FormatSearch{Dtype::kFp4, {0.3, 1.0}}};
inline constexpr auto kGemm = std::to_array<Constant<Gemms>>(
    {{"matrix_efficiency", "", limits::kShare, kByHand,
      "share of the matrix rate inside the K loop", &Gemms::matrix_efficiency, Presence::kNeedsBf16,
      kEfficiencies},
     {"cache_bytes_per_clock", "B", limits::kBytesPerClock, Range<double>{8.0, 160.0},
      "from the L2 to one unit while all of them read", &Gemms::cache_rate},
     {"port_bytes_per_clock", "B", limits::kBytesPerClock, Range<double>{16.0, 160.0},
      "from the L2 to one unit while few read", &Gemms::port_rate},
     {"prologue_cycles", "", kCycles, Range<double>{0.0, 20'000.0},
      "until the first K step has its operands", &Gemms::prologue_cycles},
     {"epilogue_bytes_per_clock", "B", limits::kBytesPerClock, Range<double>{2.0, 256.0},
      "of one unit's results to memory", &Gemms::epilogue_rate},
     {"epilogue_overlap", "", kFraction, kFraction,
      "share of an epilogue that the next tile's K loop hides", &Gemms::epilogue_overlap},
     {"hbm_share", "", limits::kShare, Range<double>{0.3, 1.0},
      "share of the peak HBM rate that operands and results reach", &Gemms::hbm_share},
     {"start_up", "us", limits::kMicroseconds, Range<double>{0.0, 10.0},
      "of a kernel, besides the launch", &Gemms::start_up},
     {"hbm_latency", "us", limits::kMicroseconds, Range<double>{0.05, 5.0},
      "of a product that HBM bounds, besides its bytes", &Gemms::hbm_latency},
     {"split_latency", "us", limits::kMicroseconds, Range<double>{0.1, 15.0},
      "of adding up the partial sums of a split K loop", &Gemms::split_latency},
     {"unaligned_share", "", limits::kShare, kByHand,
      "share of the rate where a row's bytes are no multiple of 16", &Gemms::unaligned_share},
     {"odd_share", "", limits::kShare, kByHand,
      "share of the rate where they are no multiple of 4 either; as "
      "unaligned_share if left out",
      &Gemms::odd_share, kIfGiven}});

using Fused = AttentionConstants;
inline constexpr Range<double> kEfficiency{0.05, 1.0};
inline constexpr auto kAttention = std::to_array<Constant<Fused>>(
    {{"forward_efficiency", "", kEfficiency, kByHand,
      "share of the matrix rate that the products hold in a steady loop without "
      "softmax, in the part's best kernel",
      &Fused::forward_efficiency},
     {"backward_efficiency", "", kEfficiency, kByHand, "the same of backward",
      &Fused::backward_efficiency},
     {"group_cycles", "", kCycles, kByHand,
      "start and end of a workgroup besides its own block's transfer", &Fused::group_cycles},
     {"reduction_rate", "TB/s", limits::kTerabytesPerSecond, kByHand,
      "of the whole part, at which computing waves add gradients of queries; left "
      "out where a copy engine does it",
      &Fused::reduction_rate, kIfGiven}});

using Linear = LinearAttentionConstants;
inline constexpr auto kLinear = std::to_array<Constant<Linear>>(
    {{"chunk_efficiency", "", limits::kShare, Range<double>{0.02, 1.0},
      "share of the matrix rate of products of a chunk", &Linear::chunk_efficiency},
     {"gradient_efficiency", "", limits::kShare, Range<double>{0.01, 1.0},
      "the same of products with states in the kernel of gradients of keys",
      &Linear::gradient_efficiency},
     {"inverse_cycles", "", kCycles, Range<double>{100.0, 50'000.0},
      "of a unit for the inverse of a chunk's triangle", &Linear::inverse_cycles},
     {"decay_cycles", "", kCycles, Range<double>{0.05, 10.0},
      "of a unit for a value that a channel's decay scales", &Linear::decay_cycles},
     {"step_cycles", "", kCycles, Range<double>{50.0, 10'000.0},
      "of a product between one chunk's state and the next, whatever its size",
      &Linear::step_cycles},
     {"step_channel_cycles", "", kCycles, Range<double>{0.2, 50.0},
      "the same for each channel of a key", &Linear::step_channel_cycles},
     {"hbm_share", "", limits::kShare, Range<double>{0.3, 1.0},
      "share of hbm.achieved of tensors of chunks", &Linear::hbm_share}});

using Sparse = SparseAttentionConstants;
inline constexpr auto kSparse = std::to_array<Constant<Sparse>>(
    {{"forward_efficiency", "", kEfficiency, Range<double>{0.05, 1.0},
      "share of the matrix rate of products with gathered keys", &Sparse::forward_efficiency},
     {"backward_efficiency", "", kEfficiency, Range<double>{0.05, 1.0}, "the same of backward",
      &Sparse::backward_efficiency},
     {"teacher_efficiency", "", limits::kShare, Range<double>{0.02, 1.0},
      "the same of the probabilities that an indexer learns", &Sparse::teacher_efficiency},
     {"reduction_rate", "TB/s", limits::kTerabytesPerSecond, Range<double>{0.1, 20.0},
      "of the whole part, at which gradients of keys are added in fp32", &Sparse::reduction_rate},
     {"index_efficiency", "", limits::kShare, Range<double>{0.02, 1.0},
      "share of the matrix rate of an indexer's product", &Sparse::index_efficiency},
     {"choice_passes", "", Range<double>{0.0, 1e4}, Range<double>{1.0, 50.0},
      "over the scores, for the choice of the largest", &Sparse::choice_passes},
     {"choice_cycles", "", kCycles, Range<double>{100.0, 90'000.0},
      "of a unit for each query's choice, besides the passes", &Sparse::choice_cycles}});

using Passes = MemoryConstants;
// hbm.achieved is that of a copy; more reads than writes run a little faster.
inline constexpr Range<double> kOfCopy{0.1, 1.15};
inline constexpr auto kMemory = std::to_array<Constant<Passes>>(
    {{"ramp", "us", limits::kMicroseconds, Range<double>{0.05, 10.0},
      "first and last accesses of a kernel, while little is in flight", &Passes::ramp},
     {"unit_bandwidth", "GB/s", limits::kGigabytesPerSecond, kByHand,
      "that one compute unit keeps in flight", &Passes::unit_bandwidth},
     {"streaming", "", kOfCopy, Range<double>{0.3, 1.15},
      "share of hbm.achieved of large contiguous reads and writes", &Passes::streaming},
     {"gather", "", limits::kShare, Range<double>{0.05, 1.0},
      "share of streaming of whole rows in another order", &Passes::gather},
     {"uncoalesced", "", limits::kShare, kByHand,
      "share of streaming of neighbouring values from different lines", &Passes::uncoalesced},
     {"cache_share", "", kFraction, kByHand,
      "share of the last-level cache that one tensor can use", &Passes::cache_share},
     {"indexed_cycles", "", kCycles, Range<double>{0.05, 10.0},
      "a value addressed on its own: strided, broadcast, converted from 16 to 32 "
      "bits",
      &Passes::indexed_cycles},
     {"arithmetic_cycles", "", kCycles, Range<double>{0.02, 5.0},
      "a value through exp, erf, running moments or random bits", &Passes::arithmetic_cycles},
     {"atomic_cycles", "", kCycles, kByHand, "a 16-bit value added atomically",
      &Passes::atomic_cycles},
     {"convert_cycles", "", kCycles, Range<double>{0.01, 5.0},
      "the maximum of a value, or its scaling and conversion to 8 bits", &Passes::convert_cycles},
     {"update_cycles", "", kCycles, Range<double>{0.02, 5.0},
      "a parameter of a fused Adam step, beside its traffic", &Passes::update_cycles},
     {"row_cycles", "", kCycles, Range<double>{0.0, 5'000.0},
      "start and reduction of a row in a kernel of one group of threads a row",
      &Passes::row_cycles}});

inline constexpr auto kParts = [](auto& visit) {
  using File = KernelConstants;
  visit.part("power", &File::power, parts_of(kPower));
  visit.part("gemm", &File::gemm, parts_of(kGemm));
  visit.part("attention", &File::attention, parts_of(kAttention));
  visit.part("linear_attention", &File::linear_attention, parts_of(kLinear));
  visit.part("sparse_attention", &File::sparse_attention, parts_of(kSparse));
  visit.part("memory_bound", &File::memory, parts_of(kMemory));
};

}  // namespace stepcast::kernel_tables
