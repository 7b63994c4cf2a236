// SPDX-License-Identifier: Apache-2.0
// Which fused attention kernel of an architecture runs an operator; the architecture's file says
// what there is (stepcast/hardware/architecture.hpp).
#pragma once

#include <cstdint>

#include "stepcast/graph/op.hpp"
#include "stepcast/hardware/device_spec.hpp"

namespace stepcast {

// The kernel that runs `op` on `device`: the one that it names or, where that does not exist, the
// architecture's own.
const FlashKernel& flash_kernel(const Attention& op, const DeviceSpec& device);

// How the kernel uses its compute unit in a direction that it has.
const DirectionTraits& direction_traits(const FlashKernel& kernel, Direction direction);

// Tiles for a head dimension, and the dimension that it is padded to.
const HeadTiles& head_tiles(const FlashKernel& kernel, std::int64_t head_dim);
std::int64_t padded_head(const FlashKernel& kernel, std::int64_t head_dim);

}  // namespace stepcast
