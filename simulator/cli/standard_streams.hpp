// SPDX-License-Identifier: Apache-2.0
// Standard input, output and error, as whoever starts the program leaves them.
#pragma once

namespace stepcast::cli {

// To be called before any file is opened: a stream that is closed keeps its number, so that no file
// gets it and then what is said on that stream. Reading and writing it fail as before.
void hold_standard_streams();

// Throws FileFault if what std::cout was given did not reach standard output.
void check_standard_output();

}  // namespace stepcast::cli
