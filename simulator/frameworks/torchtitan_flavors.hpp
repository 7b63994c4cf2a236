// SPDX-License-Identifier: Apache-2.0
// The models of torchtitan, by module and flavor.
#pragma once

#include <span>

#include "frameworks/model_flavor.hpp"

namespace stepcast {

std::span<const ModelFlavor> torchtitan_flavors();

}  // namespace stepcast
