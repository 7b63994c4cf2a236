// SPDX-License-Identifier: Apache-2.0
#include "stepcast/config/name_text.hpp"

#include "stepcast/base/printable.hpp"

namespace stepcast {

std::string required_name(MappingReader& reader, std::string_view key) {
  std::string name = reader.required_text(key);
  if (printable(name) != name) {
    reader.error(key, "holds a control character, as a line feed is; write a name of one line");
  }
  return name;
}

}  // namespace stepcast
