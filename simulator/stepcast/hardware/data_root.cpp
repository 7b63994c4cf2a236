// SPDX-License-Identifier: Apache-2.0
#include "stepcast/hardware/data_root.hpp"

#include <algorithm>
#include <system_error>

namespace stepcast {

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::optional<std::filesystem::path> file_named(const std::filesystem::path& folder,
                                                const std::string& name) {
  std::filesystem::path file = folder / (name + ".yaml");
  const bool plain = !name.empty() && name.find('/') == std::string::npos;
  return plain && is_there(file) ? std::optional(std::move(file)) : std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".yaml") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace stepcast
