// SPDX-License-Identifier: Apache-2.0
#include "frameworks/setting.hpp"

#include <utility>

namespace stepcast {

Setting text_setting(std::string name, std::string value, const Location& where) {
  Setting setting{std::move(name), {}};
  setting.value.kind = ConfigNode::Kind::kScalar;
  setting.value.text = std::move(value);
  setting.value.file = std::make_shared<const std::string>(where.file);
  setting.value.line = where.line;
  setting.value.column = where.column;
  return setting;
}

}  // namespace stepcast
