// SPDX-License-Identifier: Apache-2.0
// The rows of a report as a value. Each number stands in one list, once: its key for programs, its
// title for people, where it is found and how people read it. Text, JSON and CSV are renderings of
// that list, so that they cannot disagree.
//
//   constexpr auto kColumns = std::to_array<Column<Projection>>({
//       {"model", "model", member<&Projection::model>, as_text, Align::kLeft},
//       {"step_time_s", "step time", member<&Projection::time, &StepTime::step>, as_time},
//       ...});
//   constexpr Columns<Projection> kAll{kColumns};
//
// A rendering says which of the numbers it has, and in which order, by their keys:
// "gpus step_time_s"; "step_time_s:step" is called otherwise than in the list.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stepcast/config/json_node.hpp"
#include "stepcast/report/text_layout.hpp"

namespace stepcast {

using Value = nlohmann::ordered_json;

// What a row has nothing of: JSON leaves the member out, CSV leaves the cell empty, and people read
// "-". Null is the same but for JSON, which has it.
Value no_value();
bool has_value(const Value& value);

// A list, of each of the rows what `of` makes of it.
template <typename Rows, typename Of>
Value list_of(const Rows& rows, const Of& of) {
  Value list = Value::array();
  for (const auto& row : rows) {
    list.push_back(of(row));
  }
  return list;
}

// An object whose members are pairs of a key and what it has.
template <typename Pairs>
Value object_of(const Pairs& pairs) {
  Value object = Value::object();
  for (const auto& [key, value] : pairs) {
    object[std::string(key)] = value;
  }
  return object;
}

// Calls with the members of an object, those of objects inside as "terms.math".
template <typename Take>
void for_each_leaf(const Value& object, const Take& take, const std::string& path = "") {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      for_each_leaf(value, take, path + key + ".");
    } else {
      take(path + key, value);
    }
  }
}

// A quantity in its base unit, an enumeration by its name, nothing of what is not there.
template <typename T>
Value value_of(const T& number) {
  if constexpr (requires { number.has_value(); }) {
    return number ? value_of(*number) : no_value();
  } else if constexpr (std::is_enum_v<T>) {
    return name(number);
  } else if constexpr (requires { number.value(); }) {
    return number.value();
  } else if constexpr (std::ranges::range<T> && !std::is_convertible_v<T, std::string_view>) {
    return list_of(number, [](const auto& part) { return value_of(part); });
  } else {
    return number;
  }
}

// What `take` makes of the end of a path of members and member functions, if all of it is there.
template <auto kFirst, auto... kRest, typename Row, typename Take>
Value at_end_of(const Row& row, const Take& take) {
  const auto& part = std::invoke(kFirst, row);
  if constexpr (sizeof...(kRest) == 0) {
    return take(part);
  } else if constexpr (requires { part.has_value(); }) {
    return part ? at_end_of<kRest...>(*part, take) : no_value();
  } else {
    return at_end_of<kRest...>(part, take);
  }
}

// Of a column: the number at the end of a path.
template <auto... kPath, typename Row>
Value member(const Row& row) {
  return at_end_of<kPath...>(row, [](const auto& number) { return value_of(number); });
}
// Of a column: an object with all of `kColumns`, of what is at the end of a path.
template <const auto& kColumns, auto... kPath, typename Row>
Value nested(const Row& row) {
  return at_end_of<kPath...>(row, [](const auto& part) {
    if constexpr (requires { part.has_value(); }) {
      return part ? kColumns.json(*part) : no_value();
    } else {
      return kColumns.json(part);
    }
  });
}
// The same counted in a larger unit: member_in<1'000'000, &LayerPass::clock> are megahertz.
template <std::int64_t kUnit, auto... kPath, typename Row>
Value member_in(const Row& row) {
  const Value value = member<kPath...>(row);
  return has_value(value) ? Value(value.get<double>() / static_cast<double>(kUnit)) : value;
}

// As a cell of CSV; the texts of a list after each other, "; " between them.
std::string csv_text(const Value& value);

// Ways to read a number. `as_text` is that of names and of small counts.
std::string as_text(const Value& value);
std::string as_count(const Value& value);  // with separators
std::string as_whole(const Value& value);  // a number rounded, with separators
std::string as_time(const Value& value);   // of seconds
std::string as_size(const Value& value);   // of bytes
std::string as_yes_or_no(const Value& value);
std::string as_decimals(double value, int digits);  // with separators
template <int kDigits>
std::string as_number(const Value& value) {
  return as_decimals(value.get<double>(), kDigits);
}
// Of a share.
template <int kDigits>
std::string as_percent(const Value& value) {
  return as_number<kDigits>(100.0 * value.get<double>()) + " %";
}
// "+1.3 %", "-0.2 %".
template <int kDigits>
std::string as_signed_percent(const Value& share) {
  return (share.get<double>() < 0.0 ? "-" : "+") +
         as_percent<kDigits>(std::abs(share.get<double>()));
}
std::string as_megahertz(const Value& value);
// Seconds as a number of milliseconds, 0 without a sign.
std::string as_milliseconds(const Value& value);

template <typename Row>
struct Column {
  std::string_view key;
  std::string_view title;
  Value (*of)(const Row&);
  std::string (*read)(const Value&) = as_text;
  Align align = Align::kRight;
};

template <typename Row>
class Columns {
 public:
  constexpr explicit Columns(std::span<const Column<Row>> all) : all_(all) {}

  [[nodiscard]] Value value(std::string_view key, const Row& row) const { return at(key).of(row); }
  [[nodiscard]] std::string text(std::string_view key, const Row& row) const {
    return text_of(at(key), row);
  }

  // Any number as people read that one.
  [[nodiscard]] std::string read(std::string_view key, const Value& value) const {
    return at(key).read(value);
  }

  // The members of an object that are there.
  void add(std::string_view keys, const Row& row, Value& object) const {
    each(keys, [&](const Column<Row>& column) { put(column, row, object); });
  }
  [[nodiscard]] Value json(std::string_view keys, const Row& row) const {
    Value object = Value::object();
    add(keys, row, object);
    return object;
  }
  // An object with all that the list has and that is there.
  [[nodiscard]] Value json(const Row& row) const {
    Value object = Value::object();
    for (const Column<Row>& column : all_) {
      put(column, row, object);
    }
    return object;
  }
  // Lists of such objects.
  template <typename Rows>
  [[nodiscard]] Value json_rows(const Rows& rows) const {
    return list_of(rows, [this](const Row& row) { return json(row); });
  }
  template <typename Rows>
  [[nodiscard]] Value json_rows(std::string_view keys, const Rows& rows) const {
    return list_of(rows, [&](const Row& row) { return json(keys, row); });
  }

  // "gpus,step_time_s", and the cells below.
  [[nodiscard]] static std::string csv_titles(std::string_view keys) {
    std::string titles;
    for_each_word(keys, [&titles](std::string_view key, std::string_view other) {
      titles += (titles.empty() ? "" : ",") + std::string(other.empty() ? key : other);
    });
    return titles;
  }
  [[nodiscard]] static std::string no_cells(std::string_view keys) {
    std::string commas(static_cast<std::size_t>(std::ranges::count(keys, ' ')), ',');
    return commas;
  }
  [[nodiscard]] std::string csv_cells(std::string_view keys, const Row& row) const {
    std::string cells;
    each(keys, [&](const Column<Row>& column) { cells += csv_text(column.of(row)) + ","; });
    cells.pop_back();
    return cells;
  }
  // A table with its titles.
  template <typename Rows>
  [[nodiscard]] std::string csv(std::string_view keys, const Rows& rows) const {
    std::string text = csv_titles(keys) + "\n";
    for (const Row& row : rows) {
      text += csv_cells(keys, row) + "\n";
    }
    return text;
  }

  [[nodiscard]] std::vector<TextTable::Column> titles(std::string_view keys) const {
    std::vector<TextTable::Column> titles;
    each(keys, [&titles](const Column<Row>& column) {
      titles.push_back({column.title, column.align});
    });
    return titles;
  }
  // A table for people, to which rows may be added.
  template <typename Rows>
  [[nodiscard]] TextTable table(std::string_view keys, const Rows& rows) const {
    TextTable table(titles(keys));
    for (const Row& row : rows) {
      table.add_row(cells(keys, row));
    }
    return table;
  }
  [[nodiscard]] std::vector<std::string> cells(std::string_view keys, const Row& row) const {
    std::vector<std::string> cells;
    each(keys, [&](const Column<Row>& column) { cells.push_back(text_of(column, row)); });
    return cells;
  }
  // Calls with each of them.
  template <typename Take>
  void each(std::string_view keys, const Take& take) const {
    for_each_word(keys, [&](std::string_view key, std::string_view other) {
      Column<Row> column = at(key);
      column.key = other.empty() ? column.key : other;
      column.title = other.empty() ? column.title : other;
      take(column);
    });
  }
  // A line each of the numbers that are there.
  [[nodiscard]] std::string lines(std::string_view keys, const Row& row) const {
    std::string text;
    each(keys, [&](const Column<Row>& column) {
      if (const Value value = column.of(row); has_value(value)) {
        text += line(std::string(column.title), column.read(value));
      }
    });
    return text;
  }

 private:
  static void put(const Column<Row>& column, const Row& row, Value& object) {
    if (Value value = column.of(row); !value.is_discarded()) {
      object[std::string(column.key)] = std::move(value);
    }
  }

  [[nodiscard]] const Column<Row>& at(std::string_view key) const {
    const auto found = std::ranges::find(all_, key, &Column<Row>::key);
    if (found == all_.end()) {
      throw std::logic_error("no number of a report is called " + std::string(key));
    }
    return *found;
  }

  // Calls with each key, and what it is called otherwise.
  template <typename Take>
  static void for_each_word(std::string_view keys, const Take& take) {
    while (!keys.empty()) {
      const std::size_t end = std::min(keys.find(' '), keys.size());
      const std::string_view word = keys.substr(0, end);
      const std::size_t colon = std::min(word.find(':'), word.size());
      take(word.substr(0, colon), word.substr(std::min(colon + 1, word.size())));
      keys.remove_prefix(std::min(end + 1, keys.size()));
    }
  }

  static std::string text_of(const Column<Row>& column, const Row& row) {
    const Value value = column.of(row);
    return has_value(value) ? column.read(value) : "-";
  }

  std::span<const Column<Row>> all_;
};

}  // namespace stepcast
