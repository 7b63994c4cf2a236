// SPDX-License-Identifier: Apache-2.0
// Texts that recur, each held once and known by a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepcast {

enum class TextId : std::int32_t {};
inline constexpr TextId kNoText{-1};

class TextPool {
 public:
  TextId id_of(const std::string& text) {
    const auto [known, is_new] = ids_.try_emplace(text, TextId(static_cast<int>(texts_.size())));
    if (is_new) {
      texts_.push_back(&known->first);
      bytes_ += text.size() + kEntry;
    }
    return known->second;
  }
  [[nodiscard]] const std::string& text(TextId id) const {
    static const std::string kEmpty;
    return id == kNoText ? kEmpty : *texts_[static_cast<std::size_t>(id)];
  }
  // That the texts take in memory.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kEntry = 96;  // of the table, beside the text

  std::unordered_map<std::string, TextId> ids_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

}  // namespace stepcast
