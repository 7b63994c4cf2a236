// SPDX-License-Identifier: Apache-2.0
// The text of a source of the public header, read where it is not given.
#pragma once

#include <string>

#include "stepcast/config/config_node.hpp"
#include "stepcast/config/told_name.hpp"
#include "stepcast/inputs.hpp"

namespace stepcast {

inline constexpr std::size_t kLargestLines = 256U << 20U;  // bytes of operators or measurements

// Throws ConfigError.
inline std::string text_of(const TextSource& source, std::size_t largest = kLargestConfig) {
  return source.text ? *source.text : read_file(source.file, largest);
}

// Where the files lie that it names: beside it, of standard input nowhere.
inline std::filesystem::path folder_of(const TextSource& source) {
  if (source.file == kStandardInput) {
    return {};
  }
  const std::filesystem::path parent = source.file.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

}  // namespace stepcast
