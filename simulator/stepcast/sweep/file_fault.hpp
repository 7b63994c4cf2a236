// SPDX-License-Identifier: Apache-2.0
// What the system says where a file cannot be written or read.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

namespace stepcast {

// The machine could not read or write a file: a full disk, a limit, a device.
class FileFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "No space left on device", of an errno.
std::string system_reason(int error);

// Throws FileFault: "FILE: cannot write the part: No space left on device".
[[noreturn]] void file_fault(const std::filesystem::path& file, const std::string& what, int error);

// A new name in a folder is on the disk when the folder is. An empty path is the current folder.
void sync_folder(const std::filesystem::path& folder);

}  // namespace stepcast
