// SPDX-License-Identifier: Apache-2.0
#include "cli/gzip_text.hpp"

#include <zlib.h>

#include "stepcast/base/error.hpp"

namespace stepcast::cli {
namespace {

constexpr int kLevel = 1;                  // traces repeat themselves: higher levels gain little
constexpr int kGzip = 15 + 16;             // the largest window, in the format of gzip
constexpr int kMemory = 8;                 // zlib's usual
constexpr std::size_t kBlock = 1U << 18U;  // bytes

}  // namespace

void GzipText::End::operator()(z_stream_s* stream) const {
  deflateEnd(stream);
  delete stream;  // NOLINT(cppcoreguidelines-owning-memory): this is its owner
}

GzipText::GzipText(Sink sink) : sink_(std::move(sink)), stream_(new z_stream_s{}), block_(kBlock) {
  const int status =
      deflateInit2(stream_.get(), kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
  STEPCAST_CHECK(status == Z_OK, "zlib cannot compress");
}

void GzipText::write(std::string_view text) {
  // zlib does not write what it reads, and its interface knows no const.
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
  stream_->avail_in = static_cast<uInt>(text.size());
  deflate_all(Z_NO_FLUSH);
}

void GzipText::finish() {
  stream_->next_in = nullptr;
  stream_->avail_in = 0;
  deflate_all(Z_FINISH);
}

void GzipText::deflate_all(int flush) {
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(block_.data());  // NOLINT
    stream_->avail_out = static_cast<uInt>(block_.size());
    const int status = deflate(stream_.get(), flush);
    STEPCAST_CHECK(status != Z_STREAM_ERROR, "zlib's state is damaged");
    sink_({block_.data(), block_.size() - stream_->avail_out});
  } while (stream_->avail_out == 0);
}

}  // namespace stepcast::cli
