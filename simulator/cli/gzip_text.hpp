// SPDX-License-Identifier: Apache-2.0
// Text on its way into a file, compressed with gzip piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

struct z_stream_s;

namespace stepcast::cli {

// The same text gives the same bytes: the header has no time and no name.
class GzipText {
 public:
  using Sink = std::function<void(std::string_view)>;

  explicit GzipText(Sink sink);

  void write(std::string_view text);
  void finish();

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };

  void deflate_all(int flush);

  Sink sink_;
  std::unique_ptr<z_stream_s, End> stream_;
  std::vector<char> block_;
};

}  // namespace stepcast::cli
