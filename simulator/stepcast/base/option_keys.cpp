// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/option_keys.hpp"

#include <charconv>
#include <cstdint>

#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

std::string tokens_text(const std::string& text) {
  std::int64_t thousands = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, thousands);
  const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  constexpr std::int64_t kMost = 1 << 20;
  const bool is_short =
      read.ec == std::errc{} && (rest == "k" || rest == "K") && thousands > 0 && thousands <= kMost;
  return is_short ? std::to_string(1024 * thousands) : text;
}

std::string share_text(const std::string& text) {
  double percent = 0.0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, percent);
  const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  const bool is_percent = read.ec == std::errc{} && (rest == "%" || rest == " %");
  return is_percent ? shortest_text(percent / 100.0) : text;
}

}  // namespace

std::string option_value(std::string_view key, const std::string& given) {
  if (key == "training.sequence_length") {
    return tokens_text(given);
  }
  return key == "cluster.memory_sure" ? share_text(given) : given;
}

}  // namespace stepcast
