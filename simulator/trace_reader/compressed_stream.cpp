// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/compressed_stream.hpp"

#include <zlib.h>

#include <algorithm>

#include "stepcast/base/error.hpp"

namespace stepcast {

void CompressedInput::Close::operator()(gzFile_s* file) const { gzclose(file); }

CompressedInput::CompressedInput(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::is_regular_file(status) || std::filesystem::is_fifo(status)) {
    file_.reset(gzopen(file.c_str(), "rb"));
  }
  if (!file_) {
    throw ConfigError({file.string(), 0, 0}, "cannot read the file");
  }
}

bool CompressedInput::grows_too_much() const {
  const z_off_t place = gzoffset(file_.get());
  if (place < 0) {
    return false;  // of a pipe nobody knows how much was read
  }
  const auto packed = static_cast<std::size_t>(std::max<z_off_t>(1, place));
  return unpacked_ > kSmall && unpacked_ / packed > kMostGrowth;
}

CompressedInput::int_type CompressedInput::underflow() {
  const int read = gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
  int status = Z_OK;
  const char* message = gzerror(file_.get(), &status);
  if (status != Z_OK && status != Z_STREAM_END) {
    fault_ = std::string("the compressed data are damaged or cut off") +
             (message != nullptr && *message != '\0' ? std::string(" (") + message + ")" : "");
  }
  unpacked_ += static_cast<std::size_t>(std::max(0, read));
  if (grows_too_much()) {
    fault_ = "the compressed data unpack to more than 300 times their size, as no trace does";
  }
  if (read <= 0 || !fault_.empty()) {
    return traits_type::eof();
  }
  setg(block_.data(), block_.data(), block_.data() + read);
  return traits_type::to_int_type(*gptr());
}

}  // namespace stepcast
