// SPDX-License-Identifier: Apache-2.0
// What messages call a file: the one place where standard input has its name.
#pragma once

#include <filesystem>
#include <string>

namespace stepcast {

// Standard input as a file.
inline constexpr const char* kStandardInput = "/dev/stdin";

inline std::string told_name(const std::filesystem::path& file) {
  return file == kStandardInput ? "standard input" : file.string();
}

}  // namespace stepcast
