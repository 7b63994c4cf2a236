// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "stepcast/sweep/file_fault.hpp"

namespace stepcast::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      // The lowest number that is free is this one's. Opened the wrong way round it says of every
      // attempt that the descriptor is bad, as one that is closed does.
      [[maybe_unused]] const int held =
          ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void check_standard_output() {
  if (!std::cout.flush()) {
    throw FileFault("standard output: cannot write: " + system_reason(errno));
  }
}

}  // namespace stepcast::cli
