// SPDX-License-Identifier: Apache-2.0
// The hash of values: numbers, enumerations, quantities, and lists, options and tuples of them.
//
// A struct is hashed by its members, which a structured binding names. It must name them all, so a
// member that is added later does not compile until somebody has said what becomes of it:
//
//   const auto& [rows, cols] = shape;
//   return hash_of_values(rows, cols);
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "stepcast/base/units.hpp"

namespace stepcast {

class HashState {
 public:
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T value) { mix(static_cast<std::uint64_t>(value)); }
  void add(double value) { mix(std::bit_cast<std::uint64_t>(value)); }
  template <int B, int F, int S, int J>
  void add(Quantity<B, F, S, J> value) {
    add(value.value());
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) {
      add(value);
    }
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) {
      add(*value);
    }
  }
  template <typename... T>
  void add(const std::tuple<T...>& values) {
    std::apply([this](const auto&... each) { (this->add(each), ...); }, values);
  }

  [[nodiscard]] std::size_t hash() const { return state_; }

 private:
  // Multiplication by the golden ratio carries each bit upwards, the shift brings it down again.
  void mix(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15U;
    state_ ^= state_ >> 29U;
  }
  std::uint64_t state_ = 0;
};

template <typename... T>
std::size_t hash_of_values(const T&... values) {
  HashState state;
  (state.add(values), ...);
  return state.hash();
}

}  // namespace stepcast
