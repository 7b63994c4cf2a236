// SPDX-License-Identifier: Apache-2.0
// Files of the data folder by the names that experiments give them; what is loaded from them is in
// experiment.hpp.
#pragma once

#include <filesystem>
#include <string>

#include "stepcast/base/error.hpp"

namespace stepcast {

// The file of a named part. Throws ConfigError at `where` with the nearest name if there is none.
std::filesystem::path named_file(const std::filesystem::path& folder, const std::string& name,
                                 const std::string& kind, const Location& where);

}  // namespace stepcast
