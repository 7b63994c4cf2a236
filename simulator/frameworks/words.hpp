// SPDX-License-Identifier: Apache-2.0
// Tables of what frameworks call values of ours: imports look a row up by their word, exports by
// ours.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast {

// A row of a table that says nothing but the names. Where several words of a framework mean one of
// ours, exports write the one that stands first.
struct Word {
  std::string_view theirs;
  std::string_view ours;
};

// The first row whose member has this value; null if none has.
template <typename Row, std::size_t N, typename Member, typename Value>
constexpr const Row* row_with(const std::array<Row, N>& rows, Member Row::*member,
                              const Value& value) {
  const auto* const found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*member == value; });
  return found == rows.end() ? nullptr : found;
}

// The first row whose member is a part of `text`; null if none is.
template <typename Row, std::size_t N>
constexpr const Row* row_within(const std::array<Row, N>& rows, std::string_view Row::*part,
                                std::string_view text) {
  const auto* const found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return text.find(row.*part) != std::string_view::npos;
  });
  return found == rows.end() ? nullptr : found;
}

// Our word for theirs; empty if there is none.
template <typename Row, std::size_t N>
constexpr std::string_view ours_of(const std::array<Row, N>& rows, std::string_view theirs) {
  const Row* const row = row_with(rows, &Row::theirs, theirs);
  return row == nullptr ? std::string_view{} : row->ours;
}

// Their word for ours; empty if there is none.
template <typename Row, std::size_t N>
constexpr std::string_view theirs_of(const std::array<Row, N>& rows, std::string_view ours) {
  const Row* const row = row_with(rows, &Row::ours, ours);
  return row == nullptr ? std::string_view{} : row->theirs;
}

}  // namespace stepcast
