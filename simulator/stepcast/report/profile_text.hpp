// SPDX-License-Identifier: Apache-2.0
// Profiles and models as `stepcast describe` prints them: what follows from them, then every number
// with its source.
#pragma once

#include <string>
#include <string_view>

#include "stepcast/experiment/experiment.hpp"

namespace stepcast {

// Filled up with blanks, two at least.
std::string wide(std::string_view text, std::size_t width);
// "  key      value"
std::string table_line(std::string_view key, const std::string& value);

std::string gpu_text(const DeviceSpec& device);
std::string cluster_text(const ClusterProfile& profile);
std::string host_text(const HostSpec& host);
std::string model_text(const ModelSpec& model);

}  // namespace stepcast
