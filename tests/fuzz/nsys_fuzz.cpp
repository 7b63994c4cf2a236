// SPDX-License-Identifier: Apache-2.0
#include "fuzz/database_promise.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

int fuzz_nsys(const std::uint8_t* data, std::size_t size) {
  check_database(std::string(text_of(data, size)));
  return 0;
}

}  // namespace stepcast::fuzz
