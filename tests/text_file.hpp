// SPDX-License-Identifier: Apache-2.0
// Files that are gone with the test that made them.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stepcast::test {

// A place for a file or a folder of this run of the tests, whatever others run beside it.
inline std::filesystem::path scratch_path(const std::string& name) {
  return std::filesystem::temp_directory_path() /
         ("stepcast_test_" + std::to_string(::getpid()) + "_" + name);
}

class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text) : path_(scratch_path(name)) {
    std::ofstream(path_) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stepcast::test
