// SPDX-License-Identifier: Apache-2.0
#include "frameworks/megatron_import.hpp"
#include "fuzz/import_promise.hpp"

namespace stepcast::fuzz {

int fuzz_mlperf(const std::uint8_t* data, std::size_t size) {
  return import_keeps_promise(import_mlperf, text_of(data, size),
                              "config_H100_8x8x16xtp4pp1cp2.sh");
}

}  // namespace stepcast::fuzz
