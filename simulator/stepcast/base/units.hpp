// SPDX-License-Identifier: Apache-2.0
// Physical quantities as types: Quantity<byte, flop, second, joule exponents> over double.
//
// Only base units exist in memory (bytes, floating-point operations, seconds, joules); prefixes
// live in units_text. Dimensional algebra is done by the compiler, and a dimensionless result is a
// double. A rate per clock cycle has the dimension of the quantity itself: FLOP/cycle x Hz =
// FLOP/s.
#pragma once

#include <compare>

namespace stepcast {

template <int ByteExp, int FlopExp, int SecondExp, int JouleExp>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double base_units) : value_(base_units) {}

  // The value in base units (bytes, FLOPs, seconds, joules and their products).
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  double value_ = 0.0;
};

template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> operator+(Quantity<B, F, S, J> a, Quantity<B, F, S, J> b) {
  return a += b;
}
template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> operator-(Quantity<B, F, S, J> a, Quantity<B, F, S, J> b) {
  return a -= b;
}
template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> operator*(Quantity<B, F, S, J> a, double factor) {
  return Quantity<B, F, S, J>(a.value() * factor);
}
template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> operator*(double factor, Quantity<B, F, S, J> a) {
  return a * factor;
}
template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> operator/(Quantity<B, F, S, J> a, double divisor) {
  return Quantity<B, F, S, J>(a.value() / divisor);
}

namespace detail {
template <int B, int F, int S, int J>
constexpr auto reduced(double value) {
  if constexpr (B == 0 && F == 0 && S == 0 && J == 0) {
    return value;
  } else {
    return Quantity<B, F, S, J>(value);
  }
}
}  // namespace detail

template <int B1, int F1, int S1, int J1, int B2, int F2, int S2, int J2>
constexpr auto operator*(Quantity<B1, F1, S1, J1> a, Quantity<B2, F2, S2, J2> b) {
  return detail::reduced<B1 + B2, F1 + F2, S1 + S2, J1 + J2>(a.value() * b.value());
}
template <int B1, int F1, int S1, int J1, int B2, int F2, int S2, int J2>
constexpr auto operator/(Quantity<B1, F1, S1, J1> a, Quantity<B2, F2, S2, J2> b) {
  return detail::reduced<B1 - B2, F1 - F2, S1 - S2, J1 - J2>(a.value() / b.value());
}
template <int B, int F, int S, int J>
constexpr auto operator/(double a, Quantity<B, F, S, J> b) {
  return detail::reduced<-B, -F, -S, -J>(a / b.value());
}

using Bytes = Quantity<1, 0, 0, 0>;
using Flops = Quantity<0, 1, 0, 0>;
using Seconds = Quantity<0, 0, 1, 0>;
using Joules = Quantity<0, 0, 0, 1>;
using Hertz = Quantity<0, 0, -1, 0>;
using BytesPerSecond = Quantity<1, 0, -1, 0>;
using FlopsPerSecond = Quantity<0, 1, -1, 0>;
using Watts = Quantity<0, 0, -1, 1>;
using BytesPerCycle = Bytes;  // times Hertz gives BytesPerSecond
using FlopsPerCycle = Flops;  // times Hertz gives FlopsPerSecond

template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> max(Quantity<B, F, S, J> a, Quantity<B, F, S, J> b) {
  return a < b ? b : a;
}
template <int B, int F, int S, int J>
constexpr Quantity<B, F, S, J> min(Quantity<B, F, S, J> a, Quantity<B, F, S, J> b) {
  return b < a ? b : a;
}

namespace literals {
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1024.0);
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1e9); }
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v) * 1e-6); }
constexpr Hertz operator""_MHz(unsigned long long v) { return Hertz(static_cast<double>(v) * 1e6); }
}  // namespace literals

}  // namespace stepcast
