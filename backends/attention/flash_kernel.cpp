// SPDX-License-Identifier: Apache-2.0
#include "backends/attention/flash_kernel.hpp"

namespace stepcast {

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

}  // namespace stepcast
