// SPDX-License-Identifier: Apache-2.0
// The model that an export wrote in comments because the framework has no name for it.
#pragma once

#include <optional>

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

struct KeptModel {
  ModelSpec model;  // the shipped one that is named; else another, for `assembled` to change
  bool knows_layers = true;
};

// Empty where no comment says anything of a model.
std::optional<KeptModel> kept_model(const ImportInput& input);

}  // namespace stepcast
