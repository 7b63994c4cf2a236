// SPDX-License-Identifier: Apache-2.0
// Output that is long: written piece by piece, and there whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace stepcast::cli {

// A file beside the one named takes what is written and then its name, once all of it is on the
// disk; runs that write the same one at the same time have a file each, and the last one stays. A
// device or a pipe is written as it is. Without a name everything goes to standard output.
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
  void flush();
  [[noreturn]] void fault(const std::string& what) const;

  std::string name_;
  std::string partial_;
  int descriptor_ = -1;
  std::string buffer_;
};

}  // namespace stepcast::cli
