// SPDX-License-Identifier: Apache-2.0
// An architecture, and the kernels that its libraries have: hardware_profiles/architectures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/enum_names.hpp"
#include "stepcast/config/config_node.hpp"
#include "stepcast/hardware/attention_kernel.hpp"
#include "stepcast/hardware/constant.hpp"
#include "stepcast/hardware/provenance.hpp"

namespace stepcast {

// Through what programs reach the device: profilers name launches and kernels after it.
enum class DeviceRuntime { kCuda, kHip };
template <>
inline constexpr std::array<std::string_view, 2> kNamesOf<DeviceRuntime> = {"cuda", "hip"};

// The fused attention kernels that an architecture has: how each cuts its work and what it hides.
// What a part lets its best kernel reach is in kernel_constants.hpp.
struct ScoreTile {  // of the queries x keys scores
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

// Tiles of the heads up to a dimension, which is also what smaller heads are padded to.
struct HeadTiles {
  std::int64_t head_dim = 0;
  ScoreTile causal;
  ScoreTile full;
  ScoreTile backward;  // of no size where the kernel runs forward only
};

// How one direction of a kernel uses its compute unit: direction_constants() says what each is.
struct DirectionTraits {
  double matrix_share = 1.0;
  double unequal_share = 1.0;
  double eight_bit_share = 1.0;
  double eight_bit_operations = 0.0;
  double block_operations = 0.0;
  double softmax_share = 1.0;
  double overlap = 0.0;
  double tile_cycles = 0.0;
  double start_share = 1.0;
  double tail = 0.0;
  double single_pass_head = 0.0;  // 0: any
};

std::span<const Constant<DirectionTraits>> direction_constants();

// flash_kernel_constants() says what each number is.
struct FlashKernel {
  std::vector<HeadTiles> tiles;  // by rising head dimension
  DirectionTraits forward;
  std::optional<DirectionTraits> backward;  // none: the kernel runs forward only
  std::int64_t instruction_rows = 0;
  Bytes reduction_element{4};
  bool sums_shared_keys = false;  // dK and dV for each query head, and a kernel that sums them
  bool sums_shared_keys_in_8_bits = false;
  bool whole_window_in_8_bits = false;  // backward: tiles outside of a window too
  bool pads_unequal_heads = false;  // backward without causal mask, d_qk != d_v: both padded to 256
  double energy_share = 1.0;
  double context_passes = 0.0;
  double roofline_share = 1.0;
};

std::span<const Constant<FlashKernel>> flash_kernel_constants();

inline constexpr auto kPartsOfFlashKernel = [](auto& visit) {
  visit.part("forward", &FlashKernel::forward, parts_of(direction_constants()));
  visit.part("backward", &FlashKernel::backward, parts_of(direction_constants()));
  visit.own(flash_kernel_constants());
};

struct AttentionLibrary {
  // What the usual libraries take, and what runs where a software set's kernel does not exist. It
  // has both directions. Unfused: no kernel is known that fuses attention on the architecture.
  AttentionKernel native = AttentionKernel::kFlash2;
  std::array<std::optional<FlashKernel>, kNamesOf<AttentionKernel>.size()> kernels;

  [[nodiscard]] const std::optional<FlashKernel>& kernel(AttentionKernel wanted) const {
    return kernels[static_cast<std::size_t>(wanted)];
  }
};

// The kernels that the GEMM library of an architecture has.
//
// A tile is limited by what holds its 32-bit accumulators (registers, or tensor memory on
// Blackwell, half of it where the epilogue needs a second buffer) and by the local memory that
// holds the K steps in flight. A library has the tiles with one side a multiple of a step and the
// other one as well, both ways round, whose area needs no more accumulators than that.
struct MacroTile {
  double rows = 0.0;
  double cols = 0.0;
};

// Of any library.
inline constexpr std::size_t kSideStep = 32;  // all sides are multiples of it
inline constexpr std::size_t kLongestSide = 320;
inline constexpr std::size_t kMostTiles = (kLongestSide / kSideStep) * (kLongestSide / kSideStep);

// Of workgroups along rows or columns that load an operand together: two whose units multiply with
// what either holds, or two, or up to four, to each of which the cache's answer is sent.
enum class Clusters { kNone, kPairs, kMulticastPairs, kMulticastFours };

struct GemmKernels {
  std::vector<MacroTile> tiles;  // largest area first
  Clusters clusters = Clusters::kNone;
  bool splits_inner = true;  // whether it has kernels that split the inner dimension
  // Whether a tile's loads start, and its results leave, beside its neighbours.
  bool overlaps_tiles = true;
  bool hides_results = true;  // behind the products of the next tile, where tiles overlap
  // Of the inner dimension that a step holds, whole steps of it; 0: what 128 bytes hold.
  std::int64_t inner_step = 0;
  Seconds start_up;  // besides that of other products
};

// One persistent kernel for groups of products that all have more rows and columns than `above`.
struct GroupedKernel {
  MacroTile tile;
  double above = 0.0;
  double cache_share = 0.5;  // of the cache, that holds rows until the next columns come
  double loop_rate = 1.0;    // share of the rates of products and loads that the K loop keeps
  // Of gradients of weights, whose inner dimension is the rows of a group and differs from group to
  // group: the share that their K loop keeps, and the cycles that each tile
  // takes besides, before its first product.
  double gradient_loop_rate = 1.0;
  double gradient_cycles = 0.0;
};

struct RooflineTile {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double share = 1.0;  // of the matrix rate that the tile keeps
};

struct GemmLibrary {
  GemmKernels dense;
  std::optional<GemmKernels> block_scaled;  // of products with a scale for each block of operands
  std::optional<GemmKernels> four_bits;     // of products in 4 bits
  // Of products in 16 bits, and in 8 with a scale a tensor, where there is a kernel apart.
  std::optional<GroupedKernel> grouped;
  std::optional<GroupedKernel> grouped_8bit;
  std::vector<RooflineTile> roofline_tiles;
};

struct Architecture {
  std::string name;     // as a GPU's profile writes it
  std::string kernels;  // whose file describes its kernels, mostly its own
  DeviceRuntime runtime = DeviceRuntime::kCuda;
  std::string usual_software;  // the set that is assumed where an experiment names none
  std::string other_software;  // what else many take, told where that decides the answer
  GemmLibrary gemm;
  AttentionLibrary attention;
};

// Reads the kernels of a file's tree; its own sources are added to the shared `sources`, where each
// number comes from to `provenance`, and its problems to `diagnostics`.
Architecture read_architecture(const ConfigNode& root, SourceTable& sources,
                               std::vector<Provenance>& provenance, Diagnostics& diagnostics);

// Finds the architecture that `key` of a GPU's profile names in `folder`, or the one whose kernels
// that runs. An unknown name is an error with the nearest one or, where its number is another one,
// with all that there are.
Architecture find_architecture(MappingReader& profile, std::string_view key,
                               const std::filesystem::path& folder, SourceTable& sources,
                               std::vector<Provenance>& provenance);

}  // namespace stepcast
