// SPDX-License-Identifier: Apache-2.0
// A file that may be compressed with gzip, as a stream of its plain bytes.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>

struct gzFile_s;

namespace stepcast {

// Holds one block of the file at a time. Reading ends at the end of the file or at a fault, which
// fault() names: damaged data, or data that unpack to more than 300 times their size after the
// first 64 MiB, as nothing does that was recorded (traces unpack to 9 to 25 times their size).
class CompressedInput final : public std::streambuf {
 public:
  // Throws ConfigError if the file cannot be opened.
  explicit CompressedInput(const std::filesystem::path& file);

  // Why the bytes ended too early; empty if they did not.
  [[nodiscard]] const std::string& fault() const { return fault_; }

 protected:
  int_type underflow() override;

 private:
  static constexpr std::size_t kBlock = 1U << 16U;  // bytes

  struct Close {
    void operator()(gzFile_s* file) const;
  };

  static constexpr std::size_t kMostGrowth = 300;
  static constexpr std::size_t kSmall = 64U << 20U;  // bytes

  [[nodiscard]] bool grows_too_much() const;

  std::unique_ptr<gzFile_s, Close> file_;
  std::size_t unpacked_ = 0;  // bytes
  std::array<char, kBlock> block_{};
  std::string fault_;
};

}  // namespace stepcast
