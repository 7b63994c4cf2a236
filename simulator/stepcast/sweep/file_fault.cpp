// SPDX-License-Identifier: Apache-2.0
#include "stepcast/sweep/file_fault.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

namespace stepcast {

std::string system_reason(int error) { return std::generic_category().message(error); }

void file_fault(const std::filesystem::path& file, const std::string& what, int error) {
  throw FileFault(file.string() + ": " + what + ": " + system_reason(error));
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace stepcast
