// SPDX-License-Identifier: Apache-2.0
// The shipped model that has the shape of one read from a framework's file.
#pragma once

#include <string>

#include "stepcast/graph/model_spec.hpp"
#include "stepcast/hardware/data_root.hpp"

namespace stepcast {

// Whether both are the same to every price: all but names, sources, notes and published counts.
bool same_shape(const ModelSpec& a, const ModelSpec& b);

// The name in `configs/models` of a model of the same shape: `preferred` where it has it, else the
// first in the order of names; empty if none has.
std::string known_model(const ModelSpec& model, const std::string& preferred, const DataRoot& data);

}  // namespace stepcast
