// SPDX-License-Identifier: Apache-2.0
// Which model a framework's file means: the shipped one that has the shape of the one it describes,
// or the one that an export kept in comments.
#pragma once

#include <optional>
#include <string>

#include "frameworks/imported_experiment.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// The model that an export wrote in comments because the framework has no name for it.
struct KeptModel {
  ModelSpec model;  // the shipped one that is named; else another, for `assembled` to change
  bool knows_layers = true;
};

// Empty where no comment says anything of a model.
std::optional<KeptModel> kept_model(const ImportInput& input);

// Whether both are the same to every price: all but names, sources, notes and published counts.
bool same_shape(const ModelSpec& a, const ModelSpec& b);

// The name in `configs/models` of a model of the same shape: `preferred` where it has it, else the
// first in the order of names; empty if none has.
std::string known_model(const ModelSpec& model, const std::string& preferred, const DataRoot& data);

}  // namespace stepcast
