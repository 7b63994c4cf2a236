// SPDX-License-Identifier: Apache-2.0
#include "frameworks/import_remark.hpp"

#include <algorithm>

namespace stepcast {

std::size_t count_of(const std::vector<ImportRemark>& remarks, ImportOutcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(remarks.begin(), remarks.end(),
                    [outcome](const ImportRemark& remark) { return remark.outcome == outcome; }));
}

}  // namespace stepcast
