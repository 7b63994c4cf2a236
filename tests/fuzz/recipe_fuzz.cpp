// SPDX-License-Identifier: Apache-2.0
#include "frameworks/bridge_recipe.hpp"
#include "fuzz/import_promise.hpp"

namespace stepcast::fuzz {

int fuzz_recipe(const std::uint8_t* data, std::size_t size) {
  return import_keeps_promise(import_megatron_bridge, text_of(data, size), "recipe.py");
}

}  // namespace stepcast::fuzz
