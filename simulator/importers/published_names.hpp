// SPDX-License-Identifier: Apache-2.0
// What published tables call our models, GPUs and software.
#pragma once

#include <string>
#include <string_view>

namespace stepcast {

// Our name, or an empty text if there is none.
std::string model_for(std::string_view published);
std::string gpu_for(std::string_view published);
// The software set that comes nearest to a framework as published.
std::string software_for(std::string_view framework);

}  // namespace stepcast
