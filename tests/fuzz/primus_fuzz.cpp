// SPDX-License-Identifier: Apache-2.0
#include "frameworks/primus_import.hpp"
#include "fuzz/import_promise.hpp"

namespace stepcast::fuzz {

int fuzz_primus(const std::uint8_t* data, std::size_t size) {
  return import_keeps_promise(import_primus, text_of(data, size), "standard input");
}

}  // namespace stepcast::fuzz
