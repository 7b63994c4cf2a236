// SPDX-License-Identifier: Apache-2.0
#include "frameworks/framework_table.hpp"

namespace stepcast {

std::span<const FrameworkInfo> frameworks() { return {}; }

}  // namespace stepcast
