// SPDX-License-Identifier: Apache-2.0
// A recipe of NeMo 2 in Python, as far as it is assignments.
//
//   recipe = llm.llama31_70b.pretrain_recipe(num_nodes=8, num_gpus_per_node=8)
//   recipe.trainer.strategy.tensor_model_parallel_size = 4
//   recipe.data.global_batch_size = 512
//
// What the library's own recipe says of the plan and the batch is in no file: what is not assigned
// is asked for.
#pragma once

#include <vector>

#include "frameworks/imported_experiment.hpp"

namespace stepcast {

// As keys of NeMo 1. Throws ConfigError where it begins from no recipe, or leaves out a key without
// which nothing is known.
std::vector<Setting> read_nemo_recipe(const ImportInput& input);

}  // namespace stepcast
