// SPDX-License-Identifier: Apache-2.0
// Output that is long: written piece by piece, and there whole or not at all. And the standard
// streams, as whoever starts the program leaves them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast::cli {

// The file, behind all links, whose place an output of this name takes, whether it is there or not;
// none for a device, a pipe or an open file. Throws ConfigError where links lead in a circle.
std::optional<std::filesystem::path> replaced_file(const std::string& name);

// A file beside the one named, without a name where the file system has such, takes what is written
// and then its name and permissions, once all of it is on the disk; runs that write the same one at
// the same time have a file each, and the last one stays. A device, a pipe or an open file
// (/dev/stdout) is written as it is. Without a name everything goes to standard output.
class OutputFile {
 public:
  // Throws ConfigError if the folder cannot be written.
  explicit OutputFile(const std::string& name);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // removes what was not kept

  // Both throw FileFault.
  void write(std::string_view text);
  void keep();

 private:
  void open_beside();
  void name_partial();
  void flush();
  [[noreturn]] void fault(const std::string& what) const;

  std::string name_;
  std::string partial_;  // what it is called until it has its name; empty: nothing yet
  bool written_itself_ = false;
  int descriptor_ = -1;
  std::string buffer_;
};

// To be called before any file is opened: a stream that is closed keeps its number, so that no file
// gets it and then what is said on that stream. Reading and writing it fail as before.
void hold_standard_streams();

// Throws FileFault if what std::cout was given did not reach standard output.
void check_standard_output();

}  // namespace stepcast::cli
