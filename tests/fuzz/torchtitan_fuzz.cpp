// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan.hpp"
#include "fuzz/imports.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

int fuzz_torchtitan(const std::uint8_t* data, std::size_t size) {
  return fuzz_import(import_torchtitan, "job.toml", text_of(data, size));
}

}  // namespace stepcast::fuzz
