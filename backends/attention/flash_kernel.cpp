// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/flash_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stepcast/base/real.hpp"

namespace stepcast {
namespace {

std::int64_t blocks(std::int64_t length, std::int64_t side) { return (length + side - 1) / side; }

// Both sides of the loop, in tokens.
struct Extents {
  std::int64_t outer = 0;
  std::int64_t inner = 0;
  std::int64_t outer_side = 0;
  std::int64_t inner_side = 0;
};

Extents extents(const Attention& op, const ScoreTile& tile) {
  return op.direction == Direction::kForward
             ? Extents{op.seq_q, op.seq_kv, tile.queries, tile.keys}
             : Extents{op.seq_kv, op.seq_q, tile.keys, tile.queries};
}

// The share of the queries of a whole sequence that a workgroup of keys loops over.
double share_of_queries(const Attention& op) {
  return is_forward(op.direction) ? 1.0 : std::min(1.0, real(op.seq_q) / real(op.seq_kv));
}

// Inner tiles of the block that starts at `position` of a sequence whose documents are kept apart.
double document_tiles(const Documents& documents, const Extents& loop, std::int64_t sequence,
                      std::int64_t position) {
  const auto side = static_cast<double>(loop.inner_side);
  const std::int64_t end = std::min(position + loop.outer_side, sequence);
  const auto causal = static_cast<double>(blocks(end, loop.inner_side));
  const double start = static_cast<double>(position) - tokens_before(documents, position);
  if (documents.lengths == DocumentLengths::kFixed) {
    return causal - std::floor(start / side);
  }
  const double whole = (static_cast<double>(end) - start) / side + 0.5 * (1.0 - 1.0 / side);
  return std::min(causal, whole);
}

// Blocks beyond the end of a document that padding follows are empty.
std::int64_t tokens_with_work(const Documents& documents, std::int64_t sequence) {
  return documents.packed ? sequence : std::min(documents.length, sequence);
}

// What a mask by document leaves of the tiles that a causal one has.
void keep_documents_apart(const Attention& op, const Extents& loop, TileCount& count) {
  const double share = share_of_queries(op);
  const std::int64_t tokens = tokens_with_work(op.documents, op.seq_kv);
  double sum = 0.0;
  double longest = 0.0;
  double shortest = count.longest;
  double all = 0.0;
  double as_long = 0.0;
  for (std::int64_t at = 0; at < op.seq_kv; at += loop.outer_side) {
    const double tiles =
        at < tokens ? share * document_tiles(op.documents, loop, op.seq_kv, at) : 0.0;
    as_long = tiles > longest ? 1.0 : as_long + (tiles == longest ? 1.0 : 0.0);
    longest = std::max(longest, tiles);
    shortest = std::min(shortest, tiles);
    sum += tiles;
    all += 1.0;
  }
  count.mean = std::min(count.mean, sum / all);
  if (longest < count.longest) {
    count.longest = longest;
    count.longest_groups = count.groups * as_long / all;
  }
  count.shortest = std::min(count.shortest, shortest);
}

// With every token of a sequence in one document.
TileCount tiles_of_sequence(const Attention& op, const Extents& loop) {
  const auto inner_side = static_cast<double>(loop.inner_side);
  const auto outer_side = static_cast<double>(loop.outer_side);
  const std::int64_t own = blocks(loop.outer, loop.outer_side);
  const auto all = static_cast<double>(blocks(loop.inner, loop.inner_side));
  const double heads = real(op.batch) * real(op.heads);
  // Blocks that an edge of the mask cuts, beyond its length over the side of a tile: the edge lies
  // at any multiple of the greatest common divisor.
  const auto common = static_cast<double>(std::gcd(loop.outer_side, loop.inner_side));
  const double cut = 1.0 - common / inner_side;

  TileCount count{heads * static_cast<double>(own), all, all, heads * static_cast<double>(own),
                  all};
  double shortest = all;
  if (op.causal) {
    shortest = std::min(all, outer_side / inner_side + 0.5 * cut);
    count.mean = std::min(all, 0.5 * (shortest + all + 0.5 * cut));
    count.longest_groups = heads * (all > shortest ? 1.0 : static_cast<double>(own));
  }
  if (op.window > 0 && op.window < op.seq_kv) {
    // A window reaches over window tokens to one side if causal, to both if not.
    const double reach = (op.causal ? 1.0 : 2.0) * static_cast<double>(op.window - 1);
    const double share = share_of_queries(op);
    const double capped = std::min(all, (outer_side + reach * share) / inner_side + cut);
    const double rise = all - shortest;
    const double below = capped - shortest;
    const double ramp = rise > 0.0 ? below / rise : 0.0;  // share of workgroups below the cap
    count.mean = std::min(count.mean, capped - 0.5 * below * ramp);
    count.longest = capped;
    count.longest_groups = std::max(count.longest_groups, count.groups * (1.0 - ramp));
  }
  count.shortest = std::min(shortest, count.longest);
  return count;
}

}  // namespace

bool is_fused(const Attention& op, const DeviceSpec& device) {
  return op.kernel != AttentionKernel::kUnfused &&
         device.architecture.attention.native != AttentionKernel::kUnfused;
}

const FlashKernel& flash_kernel(const Attention& op, const DeviceSpec& device) {
  const AttentionLibrary& library = device.architecture.attention;
  const std::optional<FlashKernel>& named = library.kernel(op.kernel);
  const bool exists = named && (op.direction == Direction::kForward || named->backward);
  return exists ? *named : library.kernel(library.native).value();
}

const DirectionTraits& direction_traits(const FlashKernel& kernel, Direction direction) {
  return direction == Direction::kForward ? kernel.forward : kernel.backward.value();
}

const HeadTiles& head_tiles(const FlashKernel& kernel, std::int64_t head_dim) {
  for (const HeadTiles& tiles : kernel.tiles) {
    if (head_dim <= tiles.head_dim) {
      return tiles;
    }
  }
  return kernel.tiles.back();
}

std::int64_t padded_head(const FlashKernel& kernel, std::int64_t head_dim) {
  constexpr std::int64_t kStep = 64;  // beyond the listed dimensions
  const std::int64_t listed = head_tiles(kernel, head_dim).head_dim;
  return head_dim <= listed ? listed : (head_dim + kStep - 1) / kStep * kStep;
}

TileCount tile_count(const Attention& op, const ScoreTile& tile) {
  const Extents loop = extents(op, tile);
  TileCount count = tiles_of_sequence(op, loop);
  if (op.causal && shortens(op.documents, op.seq_kv)) {
    keep_documents_apart(op, loop, count);
  }
  return count;
}

}  // namespace stepcast
