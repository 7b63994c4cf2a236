// SPDX-License-Identifier: Apache-2.0
#include "frameworks/assignment_settings.hpp"

namespace stepcast {

std::vector<Setting> assignment_settings(const std::vector<std::string>& overrides) {
  std::vector<Setting> settings;
  Diagnostics diagnostics;
  const Location where{"the command line", 0, 0};
  for (const std::string& given : overrides) {
    const bool option = given.starts_with("--");
    const std::string assignment = option ? given.substr(2) : given;
    const std::size_t equal = assignment.find('=');
    if (equal == 0 || assignment.empty() || (equal == std::string::npos && !option)) {
      diagnostics.error(where, "'" + given.substr(0, 60) + "' is no KEY=VALUE");
      continue;
    }
    settings.push_back(
        text_setting(assignment.substr(0, equal),
                     equal == std::string::npos ? "true" : assignment.substr(equal + 1), where));
  }
  diagnostics.throw_if_any();
  return settings;
}

}  // namespace stepcast
