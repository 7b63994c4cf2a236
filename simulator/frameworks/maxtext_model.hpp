// SPDX-License-Identifier: Apache-2.0
// The model of a MaxText configuration: a name, and widths that stand beside it.
#pragma once

#include <optional>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"

namespace stepcast {

struct MaxTextModel {
  ModelSpec model;
  bool knows_layers = true;  // false: of a model that is still to come from comments
};

// Empty, with an error, where the name is not known.
std::optional<MaxTextModel> read_maxtext_model(FrameworkReader& settings, const ImportInput& input);

}  // namespace stepcast
