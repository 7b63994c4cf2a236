// SPDX-License-Identifier: Apache-2.0
#include "trace_reader/nvtx_names.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/ascii.hpp"

namespace stepcast {
namespace {

// What emit_nvtx writes behind the name, in this order.
constexpr std::string_view kSequence = ", seq = ";
constexpr std::string_view kOperatorId = ", op_id = ";
constexpr std::string_view kSizes = ", sizes = ";
constexpr std::string_view kInputIds = ", input_op_ids = ";

// With a number behind. The profiler's own come first, batches last, of which a step has several
// where gradients are accumulated.
constexpr std::array<std::string_view, 10> kStepWords = {
    "profilerstep",       "train step", "training step", "global step", "train iteration",
    "training iteration", "iteration",  "iter",          "step",        "batch"};

std::string without_blanks(std::string_view text) {
  std::string plain(text);
  std::erase(plain, ' ');
  return plain;
}

}  // namespace

NvtxRangeName nvtx_range_name(std::string_view text) {
  const std::size_t end =
      std::min({text.find(kSequence), text.find(kOperatorId), text.find(kSizes)});
  NvtxRangeName read;
  read.name = text.substr(0, end);
  if (end == std::string_view::npos) {
    return read;
  }
  read.of_operator =
      read.name.find("::") != std::string::npos || text.substr(end).starts_with(kSequence);
  if (const std::size_t sizes = text.find(kSizes, end); sizes != std::string_view::npos) {
    const std::string_view list = text.substr(sizes + kSizes.size());
    read.input_dims = without_blanks(list.substr(0, list.find(kInputIds)));
  }
  return read;
}

std::optional<std::size_t> step_kind(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kBetween = " _-#:=";
  const std::size_t last = name.find_last_not_of(kDigits);
  if (last == std::string_view::npos || last + 1 == name.size()) {
    return std::nullopt;
  }
  std::string word;
  for (const char byte : ascii::lower_case(name.substr(0, last + 1))) {
    const bool between = kBetween.find(byte) != std::string_view::npos;
    if (!between) {
      word.push_back(byte);
    } else if (!word.empty() && word.back() != ' ') {
      word.push_back(' ');
    }
  }
  word.resize(word.find_last_not_of(' ') + 1);
  const auto* const known = std::ranges::find(kStepWords, word);
  return known == kStepWords.end() ? std::nullopt
                                   : std::optional<std::size_t>(known - kStepWords.begin());
}

}  // namespace stepcast
