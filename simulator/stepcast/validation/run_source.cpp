// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/run_source.hpp"

#include <regex>

namespace stepcast {

std::string source_of(std::string_view text, std::string_view file) {
  if (text.empty()) {
    return std::string(file);
  }
  const std::size_t colon = text.rfind(": ");
  const std::string reference(colon == std::string_view::npos ? text : text.substr(colon + 2));
  static const std::regex page(R"((https?://)?(github\.com/)?([\w.-]+)/([\w.-]*[\w-]))");
  static const std::regex version(R"([_-]v?\d[\d.]*$)");
  std::smatch found;
  if (!std::regex_search(reference, found, page)) {
    const std::string_view whole = text.substr(0, text.find_first_of("(,:"));
    return std::string(whole.substr(0, whole.find_last_not_of(' ') + 1));
  }
  const bool host = found[3].str().find('.') != std::string::npos;
  return host ? found[3].str() : std::regex_replace(found[4].str(), version, "");
}

}  // namespace stepcast
