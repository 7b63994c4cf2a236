// SPDX-License-Identifier: Apache-2.0
#include "frameworks/nemo_recipe.hpp"

namespace stepcast {

std::vector<Setting> read_nemo_recipe(const ImportInput& input) {
  throw ConfigError({input.file, 0, 0},
                    "begins from a recipe of NeMo's library, whose plan and batch are in no file; "
                    "give what it prints or sets: stepcast project --model NAME --gpu NAME --nodes "
                    "N --set plan.tp=... --set plan.pp=... --set training.global_batch_size=..., "
                    "or the recipe of Megatron Bridge of that name: stepcast import "
                    "megatron_bridge NAME");
}

}  // namespace stepcast
