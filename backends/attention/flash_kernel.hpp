// SPDX-License-Identifier: Apache-2.0
// Which fused attention kernel of an architecture runs an operator; the architecture's file says
// what there is (stepcast/hardware/architecture.hpp).
#pragma once

#include <cstdint>

#include "stepcast/hardware/device_spec.hpp"
#include "stepcast/model/op.hpp"

namespace stepcast {

// Whether one kernel runs all of `op`: the software asks for one, and the architecture has any.
bool is_fused(const Attention& op, const DeviceSpec& device);

// The kernel that runs a fused `op` on `device`: the one that it names or, where that does not
// exist, the architecture's own.
const FlashKernel& flash_kernel(const Attention& op, const DeviceSpec& device);

// How the kernel uses its compute unit in a direction that it has.
const DirectionTraits& direction_traits(const FlashKernel& kernel, Direction direction);

// Tiles for a head dimension, and the dimension that it is padded to.
const HeadTiles& head_tiles(const FlashKernel& kernel, std::int64_t head_dim);
std::int64_t padded_head(const FlashKernel& kernel, std::int64_t head_dim);

// How many tiles the workgroups of a fused attention kernel visit.
//
// A workgroup owns an outer block (queries forward, keys backward) and loops over inner blocks
// (keys forward, queries backward). Blocks that the mask clears are skipped whole, and blocks that
// it cuts are computed whole. Causal: the number of inner blocks rises evenly from one workgroup to
// the next; a window caps it. In closed form, so the rise is taken as continuous: exact without a
// window where one tile side divides the other.
//
// Documents: block by block, from the tile that holds the first token of the document of the
// block's first query to the diagonal. Backward is taken as the mirror image. A document of random
// length starts anywhere in a tile, which adds half a tile.
struct TileCount {
  double groups = 0.0;          // workgroups of the whole operator
  double mean = 0.0;            // tiles of a workgroup
  double longest = 0.0;         // tiles of the longest
  double longest_groups = 0.0;  // as long as that
  double shortest = 0.0;        // tiles of the shortest
};

TileCount tile_count(const Attention& op, const ScoreTile& tile);

}  // namespace stepcast
