// SPDX-License-Identifier: Apache-2.0
// Models that are known by name and not priced: configs/left_out_models.yaml.
#pragma once

#include <string>

#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// What stepcast lacks for the model `name`; empty for any other model.
std::string lacking_for_model(const std::string& name, const DataRoot& data);

}  // namespace stepcast
