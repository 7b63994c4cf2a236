// SPDX-License-Identifier: Apache-2.0
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return stepcast::fuzz::STEPCAST_FUZZ_TARGET(data, size);
}
