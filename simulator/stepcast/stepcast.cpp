// SPDX-License-Identifier: Apache-2.0
#include "stepcast/stepcast.hpp"

namespace stepcast {

std::string_view version() { return STEPCAST_VERSION; }

Simulator::Simulator(std::filesystem::path data) : data_(std::move(data)) {
  for (const char* part : {"configs", "hardware_profiles"}) {
    std::error_code error;
    if (!std::filesystem::is_directory(data_ / part, error)) {
      const Problem problem{data_.string(), 0, 0,
                            "has no folder " + std::string(part) + "; give the data of stepcast"};
      throw InputError(problem.file + ": error: " + problem.message, {problem});
    }
  }
}

}  // namespace stepcast
