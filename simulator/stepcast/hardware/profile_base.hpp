// SPDX-License-Identifier: Apache-2.0
// The profile of a part that is another one with a few numbers changed: one die sold with other
// memory, clocks or power.
//
// `base: h100_sxm` names a profile of a folder, whose numbers hold where this one states
// none. A number is replaced with its source: {value, source} is one thing. A base may have a base.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// The whole profile, without the key `base`; every value keeps its place in the file that states
// it. `bases` gets the names of the parts that it is based on, nearest first. Throws ConfigError if
// a base is not in `folder` or is based on itself.
ConfigNode profile_with_bases(const std::filesystem::path& file,
                              const std::filesystem::path& folder, std::vector<std::string>& bases);

}  // namespace stepcast
