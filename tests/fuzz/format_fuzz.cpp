// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frameworks/file_formats.hpp"
#include "fuzz/targets.hpp"

namespace stepcast::fuzz {

int fuzz_format(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (const char* file : {"train", "train.yaml", "train.sh", "train.py"}) {
    const auto found =
        recognized_file(read_text(std::string(text), file), DataRoot{STEPCAST_DATA_ROOT});
    if (found) {
      promise(found->where.line <= lines, "a sign stands behind the last line");
      promise(found->format.door.empty() != found->format.remedy.empty(),
              "a known file has neither a door nor a remedy");
    }
  }
  return 0;
}

}  // namespace stepcast::fuzz
