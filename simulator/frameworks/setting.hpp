// SPDX-License-Identifier: Apache-2.0
// One key of a framework's file with its value, as it stood there.
#pragma once

#include <string>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

// Scalars are text: a reader types them. A switch that is given without a value is "true".
struct Setting {
  std::string name;  // in the framework's words: "tensor_model_parallel_size", "training.seq_len"
  ConfigNode value;  // with its place
};

Setting text_setting(std::string name, std::string value, const Location& where);

}  // namespace stepcast
