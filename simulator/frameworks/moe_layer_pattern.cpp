// SPDX-License-Identifier: Apache-2.0
#include "frameworks/moe_layer_pattern.hpp"

#include <algorithm>
#include <charconv>

namespace stepcast {
namespace {

constexpr std::size_t kMostLayers = 10'000;
constexpr int kDeepestPattern = 32;

// Sums and multiples of lists of Python: [0]*3+[1]*58, ([0]*1+[1])*24.
class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<bool>> pattern() {
    auto all = sum(0);
    return all && at_ == text_.size() ? all : std::nullopt;
  }

 private:
  bool accept(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
    const bool there = at_ < text_.size() && text_[at_] == c;
    at_ += there ? 1 : 0;
    return there;
  }

  std::optional<std::size_t> number() {
    accept(' ');
    std::size_t value = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (read.ec != std::errc{} || value > kMostLayers) {
      return std::nullopt;
    }
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    return value;
  }

  std::optional<std::vector<bool>> sum(int depth) {
    auto all = product(depth);
    while (all && accept('+')) {
      const auto more = product(depth);
      if (!more || all->size() + more->size() > kMostLayers) {
        return std::nullopt;
      }
      all->insert(all->end(), more->begin(), more->end());
    }
    return all;
  }

  std::optional<std::vector<bool>> product(int depth) {
    std::optional<std::vector<bool>> item;
    if (accept('(')) {
      item = depth < kDeepestPattern ? sum(depth + 1) : std::nullopt;
      item = accept(')') ? item : std::nullopt;
    } else {
      item = list();
    }
    while (item && accept('*')) {
      const auto times = number();
      if (!times || item->size() * *times > kMostLayers) {
        return std::nullopt;
      }
      std::vector<bool> repeated;
      for (std::size_t i = 0; i < *times; ++i) {
        repeated.insert(repeated.end(), item->begin(), item->end());
      }
      item = std::move(repeated);
    }
    return item;
  }

  std::optional<std::vector<bool>> list() {
    if (!accept('[')) {
      return std::nullopt;
    }
    std::vector<bool> items;
    while (!accept(']')) {
      const auto item = number();
      if (!item || *item > 1 || items.size() > kMostLayers) {
        return std::nullopt;
      }
      items.push_back(*item == 1);
      accept(',');
    }
    return items;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::vector<bool> placed(const MoePlaces& places, std::size_t layers) {
  std::vector<bool> pattern(layers);
  MoeSpec moe;
  moe.first_dense_layers = places.first_dense_layers;
  moe.every = places.every;
  ModelSpec model;
  model.moe = moe;
  for (std::size_t i = 0; i < layers; ++i) {
    pattern[i] = layer_kind(model, static_cast<std::int64_t>(i)).moe;
  }
  return pattern;
}

std::string zeros(std::int64_t count) { return "[0]*" + std::to_string(count); }
std::string ones(std::int64_t count) { return "[1]*" + std::to_string(count); }

}  // namespace

std::optional<std::vector<bool>> moe_layer_pattern(std::string_view text, std::int64_t layers) {
  std::int64_t every = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), every);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) {
    if (every == 0 || layers > static_cast<std::int64_t>(kMostLayers)) {
      return std::nullopt;
    }
    std::vector<bool> pattern;
    for (std::int64_t i = 0; i < layers; ++i) {
      pattern.push_back(i % every == 0);
    }
    return pattern;
  }
  return PatternReader(text).pattern();
}

std::optional<MoePlaces> moe_places(const std::vector<bool>& pattern) {
  const auto begin = pattern.begin();
  const auto first = std::find(begin, pattern.end(), true);
  if (first == pattern.end()) {
    return std::nullopt;
  }
  const auto second = std::find(first + 1, pattern.end(), true);
  MoePlaces places;
  places.every = second == pattern.end() ? 1 : second - first;
  places.first_dense_layers = (first - begin) - places.every + 1;
  if (places.first_dense_layers >= 0 && placed(places, pattern.size()) == pattern) {
    return places;
  }
  places.first_dense_layers = 0;
  places.exact = false;
  const std::vector<bool> near = placed(places, pattern.size());
  const bool as_many = std::count(near.begin(), near.end(), true) ==
                       std::count(pattern.begin(), pattern.end(), true);
  return as_many ? std::optional(places) : std::nullopt;
}

std::string moe_layer_text(const MoeSpec& moe, std::int64_t layers) {
  const std::int64_t rest = layers - moe.first_dense_layers;
  if (moe.every == 1) {
    return moe.first_dense_layers == 0
               ? std::string{}
               : "(" + zeros(moe.first_dense_layers) + "+" + ones(rest) + ")";
  }
  const std::string period = "(" + zeros(moe.every - 1) + "+" + ones(1) + ")";
  return "(" + zeros(moe.first_dense_layers) + "+" + period + "*" +
         std::to_string(rest / moe.every) + "+" + zeros(rest % moe.every) + ")";
}

}  // namespace stepcast
