// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_import.hpp"
#include "fuzz/import_promise.hpp"

namespace stepcast::fuzz {

int fuzz_megatron(const std::uint8_t* data, std::size_t size) {
  (void)import_keeps_promise(import_megatron, text_of(data, size), "run.yaml");
  return import_keeps_promise(import_megatron, text_of(data, size), "run.sh");
}

}  // namespace stepcast::fuzz
