// SPDX-License-Identifier: Apache-2.0
#include "frameworks/torchtitan_words.hpp"

namespace stepcast {

FrameworkWords torchtitan_words(const DataRoot& data) {
  return load_framework_words(data, "torchtitan");
}

}  // namespace stepcast
