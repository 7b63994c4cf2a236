// SPDX-License-Identifier: Apache-2.0
// A count that layers of a model may have of their own: one of each layer, where a shorter list
// begins again behind its end.
//
//   heads: 64                  of every layer
//   heads: [64, 96, 96, 96]    64 of layers 0, 4, 8, ...
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stepcast/config/mapping_reader.hpp"

namespace stepcast {

// The shortest list that says the same as `pattern` of each of `layers` layers.
template <typename T>
std::vector<T> shortest_pattern(const std::vector<T>& pattern, std::int64_t layers) {
  const auto at = [&pattern](std::int64_t layer) {
    return pattern[static_cast<std::size_t>(layer % std::ssize(pattern))];
  };
  for (std::int64_t period = 1; period < std::ssize(pattern); ++period) {
    std::int64_t same = period;
    while (same < layers && at(same) == at(same % period)) {
      ++same;
    }
    if (same >= layers) {
      return {pattern.begin(), pattern.begin() + period};
    }
  }
  return pattern;
}

class LayerCounts {
 public:
  LayerCounts() = default;
  explicit LayerCounts(std::int64_t same) : pattern_{same} {}
  // Of each of `layers` layers; `pattern` is not empty.
  LayerCounts(const std::vector<std::int64_t>& pattern, std::int64_t layers)
      : pattern_(shortest_pattern(pattern, layers)) {}
  LayerCounts& operator=(std::int64_t same) {
    pattern_.assign(1, same);
    return *this;
  }

  [[nodiscard]] bool uniform() const { return pattern_.size() == 1; }
  [[nodiscard]] std::int64_t of_layer(std::int64_t index) const {
    return pattern_[static_cast<std::size_t>(index) % pattern_.size()];
  }
  [[nodiscard]] std::int64_t most() const;
  [[nodiscard]] const std::vector<std::int64_t>& pattern() const { return pattern_; }

  // That of every layer. To ask it of layers that differ is a fault of the program: what reads it
  // has refused such a model, or asks the layer's kind (LayerKind).
  [[nodiscard]] std::int64_t same() const;
  // The same, so that what knows one count of all layers reads it as the number that it is.
  operator std::int64_t() const {  // NOLINT(google-explicit-constructor)
    return same();
  }

  friend bool operator==(const LayerCounts& a, const LayerCounts& b) {
    return a.pattern_ == b.pattern_;
  }

 private:
  std::vector<std::int64_t> pattern_ = {0};
};

// A number or a list of one for each of `layers` layers at most, each within `range`.
LayerCounts optional_layer_counts(MappingReader& reader, std::string_view key,
                                  const LayerCounts& fallback, Range<std::int64_t> range,
                                  std::int64_t layers);
// The same of a key that must be there; a list may have other counts than a number.
struct LayerRanges {
  Range<std::int64_t> number;
  Range<std::int64_t> item;
};
LayerCounts required_layer_counts(MappingReader& reader, std::string_view key, LayerRanges ranges,
                                  std::int64_t layers);

// "64", or "[64, 96, 96, 96]".
std::string to_text(const LayerCounts& counts);

}  // namespace stepcast
