// SPDX-License-Identifier: Apache-2.0
// NeMo's runs of Megatron Core.
//
//   trainer: {num_nodes: 4, devices: 8, precision: bf16}
//   model: {micro_batch_size: 1, num_layers: 32, activation: fast-swiglu, ...}
//
// Read are the YAML of NeMo 1 and scripts that run megatron_gpt_pretraining.py: the YAML that they
// name, and model.key=value behind it, as Hydra takes them. ${model.key} and ${.key} are the values
// of those keys. What configs/frameworks/nemo.yaml does not rename is Megatron's own key.
//
// When it is wrong: a resolver of Hydra's, ${multiply:2,${.x}}, is no value and is refused where
// it counts. A recipe of NeMo 2 begins from what the library has, which no file says.
#pragma once

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

ImportedExperiment import_nemo(const ImportInput& input);

}  // namespace stepcast
