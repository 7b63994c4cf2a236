// SPDX-License-Identifier: Apache-2.0
#include "frameworks/setting.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/ascii.hpp"

namespace stepcast {

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> keys;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    if (end != 0) {
      keys.push_back(text.substr(0, end));
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return keys;
}

bool stands_for(std::string_view listed, std::string_view name) {
  if (listed == "''") {
    return name.empty();
  }
  return listed.ends_with('*') ? name.starts_with(listed.substr(0, listed.size() - 1))
                               : name == listed;
}

bool is_among(std::string_view names, std::string_view name) {
  const std::vector<std::string_view> all = names_in(names);
  return std::any_of(all.begin(), all.end(),
                     [name](std::string_view listed) { return stands_for(listed, name); });
}

std::vector<std::string> words_of_settings(const std::vector<std::string>& overrides) {
  std::vector<std::string> kept;
  for (const std::string& text : overrides) {
    const std::string key = text.substr(0, text.find('='));
    if (std::any_of(key.begin(), key.end(), ascii::is_lower)) {
      kept.push_back(text);
    }
  }
  return kept;
}

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

Setting text_setting(std::string name, std::string value, const Location& where) {
  const ConfigPlace place{std::make_shared<const std::string>(where.file), where.line,
                          where.column};
  return {std::move(name), scalar_at(place, std::move(value))};
}

}  // namespace stepcast
