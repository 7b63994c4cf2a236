// SPDX-License-Identifier: Apache-2.0
#include "cli/framework_arguments.hpp"

namespace stepcast::cli {
namespace {

bool is_dotted(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  return name.starts_with("--") && name.find('.') != std::string::npos;
}

}  // namespace

std::vector<std::string> with_framework_arguments(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "import") {
    return arguments;
  }
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string argument = std::move(arguments[i]);
    if (is_dotted(argument)) {
      argument.erase(0, 2);
      if (argument.find('=') == std::string::npos) {
        const bool has_value = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
        argument += "=" + (has_value ? arguments[++i] : "true");
      }
    }
    joined.push_back(std::move(argument));
  }
  return joined;
}

}  // namespace stepcast::cli
