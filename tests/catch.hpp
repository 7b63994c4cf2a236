// SPDX-License-Identifier: Apache-2.0
// Catch2, version 2 or 3, with what differs between the two hidden; it is precompiled.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <string>

#include "stepcast/base/units.hpp"

namespace stepcast::test {

// CHECK_THAT(text, contains_text("needle"))
inline auto contains_text(const std::string& needle) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(needle);
#else
  return Catch::Matchers::Contains(needle);
#endif
}

// Equal to 12 digits: what reordering a sum of doubles may change.
inline Approx nearly(double value) { return Approx(value).epsilon(1e-12).margin(0.0); }

}  // namespace stepcast::test

template <int B, int F, int S, int J>
struct Catch::StringMaker<stepcast::Quantity<B, F, S, J>> {
  static std::string convert(const stepcast::Quantity<B, F, S, J>& quantity) {
    return Catch::StringMaker<double>::convert(quantity.value());
  }
};
