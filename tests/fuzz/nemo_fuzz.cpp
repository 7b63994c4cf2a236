// SPDX-License-Identifier: Apache-2.0
#include "frameworks/nemo.hpp"
#include "fuzz/imports.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

int fuzz_nemo(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  (void)fuzz_import(import_nemo, "run.sh", text);
  return fuzz_import(import_nemo, "run.yaml", text);
}

}  // namespace stepcast::fuzz
