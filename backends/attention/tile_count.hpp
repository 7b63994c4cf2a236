// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include "backends/attention/flash_kernel.hpp"
#include "stepcast/graph/op.hpp"

namespace stepcast {

struct TileCount {
  double groups = 0.0;          // workgroups of the whole operator
  double mean = 0.0;            // tiles of a workgroup
  double longest = 0.0;         // tiles of the longest
  double longest_groups = 0.0;  // as long as that
  double shortest = 0.0;        // tiles of the shortest
};

TileCount tile_count(const Attention& op, const ScoreTile& tile);

}  // namespace stepcast
