// SPDX-License-Identifier: Apache-2.0
// Which model a framework's file means: the shipped one that has the name that the framework gives
// it, or the shape that the file describes, or the one that an export kept in comments.
//
//   torchtitan's llama3, 70B    ->  llama3.1_70b
//   MaxText's deepseek3-671b    ->  deepseek_v3
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frameworks/imported_experiment.hpp"
#include "stepcast/hardware/data_root.hpp"
#include "stepcast/model/model_spec.hpp"

namespace stepcast {

// A row of a framework's table names a model of `configs/models`, what the framework's model has
// otherwise, and where the framework says so. A name that has no row is refused by the readers.
struct ModelFlavor {
  std::string module;        // torchtitan's "llama3"; empty where a name is enough
  std::string flavor;        // "70B"
  std::string ours;          // in configs/models
  ConfigNode changes;        // of that file, a mapping; null: none
  bool without_mtp = false;  // the framework trains it without multi-token prediction
  std::string lacks;         // what the framework's model has that ours has not, as a remark
  std::string attention;     // the framework's word for the kernel that the flavor names
};

// Null if there is none.
const ModelFlavor* find_flavor(std::span<const ModelFlavor> flavors, std::string_view module,
                               std::string_view flavor);
ModelSpec model_of(const ModelFlavor& flavor, const DataRoot& data);
// The flavor of the shipped model `shipped`, or of one that is called `name` as without_mtp calls
// it; null if there is none.
const ModelFlavor* flavor_of(std::span<const ModelFlavor> flavors, const std::string& shipped,
                             const std::string& name);
// Every name, for suggestions: "llama3 70B" or "llama3-70b".
std::vector<std::string> flavor_names(std::span<const ModelFlavor> flavors,
                                      std::string_view module);

// The model without its multi-token prediction modules, under a name that says so.
ModelSpec without_mtp(ModelSpec model);

// The model that an export wrote in comments because the framework has no name for it.
struct KeptModel {
  ModelSpec model;  // the shipped one that is named; else another, for `assembled` to change
  bool knows_layers = true;  // false: comments of an export say them later
};

// Empty where no comment says anything of a model.
std::optional<KeptModel> kept_model(const ImportInput& input);

// Whether both are the same to every price: all but names, sources, notes and published counts.
bool same_shape(const ModelSpec& a, const ModelSpec& b);

// The first shipped model, in the order of names, that has the sizes of `model`, whatever its
// vocabulary is; nothing where there is none, or those that there are have several vocabularies.
std::optional<ModelSpec> shipped_of_sizes(const ModelSpec& model, const DataRoot& data);

// The name in `configs/models` of a model of the same shape: `preferred` where it has it, else the
// first in the order of names; empty if none has.
std::string known_model(const ModelSpec& model, const std::string& preferred, const DataRoot& data);

}  // namespace stepcast
