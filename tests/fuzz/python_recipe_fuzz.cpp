// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan.hpp"
#include "fuzz/imports.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

int fuzz_python_recipe(const std::uint8_t* data, std::size_t size) {
  return fuzz_import(import_torchtitan, "config_registry.py", text_of(data, size));
}

}  // namespace stepcast::fuzz
