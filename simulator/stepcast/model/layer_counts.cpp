// SPDX-License-Identifier: Apache-2.0
#include "stepcast/model/layer_counts.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace stepcast {
namespace {

// Empty where the key has no list, or one that is refused.
std::optional<LayerCounts> listed(MappingReader& reader, std::string_view key,
                                  Range<std::int64_t> range, std::int64_t layers) {
  const std::vector<std::int64_t> counts = reader.optional_counts(key, range);
  if (counts.empty()) {
    if (reader.good({key})) {
      reader.error(key, "is an empty list; give a count, or one of each layer");
    }
    return std::nullopt;
  }
  if (layers > 0 && std::ssize(counts) > layers) {
    reader.error(key, "has " + std::to_string(counts.size()) + " items for " +
                          std::to_string(layers) + " layers; give one of each at most");
  }
  return LayerCounts(counts, layers);
}

bool is_list(const MappingReader& reader, std::string_view key) {
  const ConfigNode* value = reader.node().find(key);
  return value != nullptr && value->kind == ConfigNode::Kind::kSequence;
}

}  // namespace

std::int64_t LayerCounts::most() const {
  return *std::max_element(pattern_.begin(), pattern_.end());
}

std::int64_t LayerCounts::same() const {
  STEPCAST_CHECK(uniform(), "one count is asked of layers that differ: " + to_text(*this));
  return pattern_.front();
}

LayerCounts optional_layer_counts(MappingReader& reader, std::string_view key,
                                  const LayerCounts& fallback, Range<std::int64_t> range,
                                  std::int64_t layers) {
  if (is_list(reader, key)) {
    return listed(reader, key, range, layers).value_or(fallback);
  }
  if (!reader.has(key)) {
    reader.take(key);
    return fallback;
  }
  return LayerCounts(reader.optional_count(key, fallback.pattern().front(), range));
}

LayerCounts required_layer_counts(MappingReader& reader, std::string_view key, LayerRanges ranges,
                                  std::int64_t layers) {
  if (is_list(reader, key)) {
    return listed(reader, key, ranges.item, layers).value_or(LayerCounts{});
  }
  return LayerCounts(reader.required_count(key, ranges.number));
}

std::string to_text(const LayerCounts& counts) {
  if (counts.uniform()) {
    return std::to_string(counts.same());
  }
  std::string text;
  for (const std::int64_t count : counts.pattern()) {
    text += (text.empty() ? "[" : ", ") + std::to_string(count);
  }
  return text + "]";
}

}  // namespace stepcast
