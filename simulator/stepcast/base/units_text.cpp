// SPDX-License-Identifier: Apache-2.0
#include "stepcast/base/units_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/error.hpp"

namespace stepcast {
namespace {

struct Unit {
  std::string_view text;
  double factor;
  bool printed;  // the printer picks among these, in ascending order of factor
};

constexpr double kKi = 1024.0;
constexpr double kMi = kKi * 1024.0;
constexpr double kTi = kGibibyte * 1024.0;

constexpr std::array kBytesUnits = {
    Unit{"B", 1, true},      Unit{"KB", 1e3, false},  Unit{"kB", 1e3, true},
    Unit{"MB", 1e6, true},   Unit{"GB", 1e9, true},   Unit{"TB", 1e12, true},
    Unit{"KiB", kKi, false}, Unit{"MiB", kMi, false}, Unit{"GiB", kGibibyte, false},
    Unit{"TiB", kTi, false}};
constexpr std::array kFlopsUnits = {Unit{"FLOP", 1, true},     Unit{"KFLOP", 1e3, false},
                                    Unit{"MFLOP", 1e6, true},  Unit{"GFLOP", 1e9, true},
                                    Unit{"TFLOP", 1e12, true}, Unit{"PFLOP", 1e15, true},
                                    Unit{"EFLOP", 1e18, true}, Unit{"FLOP/clk", 1, false}};
constexpr std::array kSecondsUnits = {Unit{"ns", 1e-9, true}, Unit{"us", 1e-6, true},
                                      Unit{"ms", 1e-3, true}, Unit{"s", 1, true},
                                      Unit{"min", 60, false}, Unit{"h", 3600, false}};
constexpr std::array kJoulesUnits = {Unit{"pJ", 1e-12, true}, Unit{"nJ", 1e-9, true},
                                     Unit{"mJ", 1e-3, true}, Unit{"J", 1, true}};
constexpr std::array kHertzUnits = {Unit{"Hz", 1, true}, Unit{"kHz", 1e3, true},
                                    Unit{"MHz", 1e6, true}, Unit{"GHz", 1e9, true}};
constexpr std::array kBytesPerSecondUnits = {Unit{"B/s", 1, true},
                                             Unit{"kB/s", 1e3, true},
                                             Unit{"MB/s", 1e6, true},
                                             Unit{"GB/s", 1e9, true},
                                             Unit{"TB/s", 1e12, true},
                                             Unit{"MiB/s", kMi, false},
                                             Unit{"GiB/s", kGibibyte, false},
                                             Unit{"TiB/s", kTi, false},
                                             Unit{"Mb/s", 1e6 / 8, false},
                                             Unit{"Gb/s", 1e9 / 8, false},
                                             Unit{"Tb/s", 1e12 / 8, false}};
constexpr std::array kFlopsPerSecondUnits = {
    Unit{"FLOP/s", 1, true},     Unit{"MFLOP/s", 1e6, true},  Unit{"GFLOP/s", 1e9, true},
    Unit{"TFLOP/s", 1e12, true}, Unit{"PFLOP/s", 1e15, true}, Unit{"EFLOP/s", 1e18, true}};
constexpr std::array kWattsUnits = {Unit{"mW", 1e-3, true}, Unit{"W", 1, true},
                                    Unit{"kW", 1e3, true}};

struct Dimension {
  std::span<const Unit> units;
  std::string_view example;
};
template <typename Q>
constexpr Dimension kDimension{};
template <>
constexpr Dimension kDimension<Bytes>{kBytesUnits, "80 GB or 80 GiB"};
template <>
constexpr Dimension kDimension<Flops>{kFlopsUnits, "2048 FLOP/clk or 5 TFLOP"};
template <>
constexpr Dimension kDimension<Seconds>{kSecondsUnits, "2.5 us"};
template <>
constexpr Dimension kDimension<Joules>{kJoulesUnits, "1.5 pJ"};
template <>
constexpr Dimension kDimension<Hertz>{kHertzUnits, "1830 MHz or 2.1 GHz"};
template <>
constexpr Dimension kDimension<BytesPerSecond>{kBytesPerSecondUnits, "3.35 TB/s or 400 Gb/s"};
template <>
constexpr Dimension kDimension<FlopsPerSecond>{kFlopsPerSecondUnits, "989 TFLOP/s"};
template <>
constexpr Dimension kDimension<Watts>{kWattsUnits, "700 W"};

struct NumberAndRest {
  double number = 0.0;
  std::string_view rest;
  QuantityFault fault = QuantityFault::kNone;
};

NumberAndRest leading_number(std::string_view text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    return {0.0, {}, QuantityFault::kOutOfRange};
  }
  if (error != std::errc{} || !std::isfinite(number)) {
    return {0.0, {}, QuantityFault::kNotANumber};
  }
  std::string_view rest(after, static_cast<std::size_t>(end - after));
  while (!rest.empty() && rest.front() == ' ') {
    rest.remove_prefix(1);
  }
  return {number, rest, rest.empty() ? QuantityFault::kNoUnit : QuantityFault::kNone};
}

std::string shortest(double value) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

// number * factor, rounded once: 1e-6 is no double, but 1e6 is.
double in_base_units(double number, double factor) {
  return factor >= 1.0 ? number * factor : number / std::round(1.0 / factor);
}

bool parses_back(const std::string& digits, double factor, double value) {
  return in_base_units(leading_decimal(digits), factor) == value;
}

// Digits d with d * factor == value exactly; empty if double arithmetic has none near.
std::string digits_for(double value, double factor) {
  double scaled = value / factor;
  std::string digits = shortest(scaled);
  if (parses_back(digits, factor, value)) {
    return digits;
  }
  for (const double target :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    digits = shortest(std::nextafter(scaled, target));
    if (parses_back(digits, factor, value)) {
      return digits;
    }
  }
  return {};
}

std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) {
    digits.insert(i - 3, 1, ',');
  }
  return digits;
}

// More digits than this says nothing to a reader, and no wider column holds them.
constexpr double kPlainBelow = 1e15;

std::string scientific(double value, int digits) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific, digits - 1);
  return {buffer.data(), result.ptr};
}

}  // namespace

template <typename Q>
ParsedQuantity<Q> parse_quantity(std::string_view text) {
  const NumberAndRest parsed = leading_number(text);
  if (parsed.fault != QuantityFault::kNone) {
    return {std::nullopt, parsed.fault};
  }
  for (const Unit& unit : kDimension<Q>.units) {
    if (unit.text == parsed.rest) {
      const double value = in_base_units(parsed.number, unit.factor);
      if (!std::isfinite(value)) {
        return {std::nullopt, QuantityFault::kOutOfRange};
      }
      return {Q(value), QuantityFault::kNone};
    }
  }
  return {std::nullopt, QuantityFault::kWrongUnit};
}

template <typename Q>
Q quantity_of(double number, std::string_view unit) {
  const std::span<const Unit> units = kDimension<Q>.units;
  const auto known = std::ranges::find(units, unit, &Unit::text);
  STEPCAST_CHECK(known != units.end(), "no unit of this dimension");
  return Q(in_base_units(number, known->factor));
}

template <typename Q>
std::string_view quantity_example() {
  return kDimension<Q>.example;
}

template <typename Q>
std::string format_quantity(Q quantity) {
  const double value = quantity.value();
  const std::span<const Unit> units = kDimension<Q>.units;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (unit->printed && std::abs(value) >= unit->factor) {
      if (std::string digits = digits_for(value, unit->factor); !digits.empty()) {
        return digits + " " + std::string(unit->text);
      }
    }
  }
  for (const Unit& unit : units) {
    if (unit.factor == 1) {
      return shortest(value) + " " + std::string(unit.text);
    }
  }
  return shortest(value);
}

template <typename Q>
std::string rounded_quantity(Q quantity, int digits) {
  const double value = quantity.value();
  const std::span<const Unit> units = kDimension<Q>.units;
  const auto best = std::find_if(units.rbegin(), units.rend(), [value](const Unit& unit) {
    return unit.printed && std::abs(value) >= unit.factor;
  });
  if (best == units.rend()) {
    return format_quantity(quantity);
  }
  const double number = value / best->factor;
  const double scale = std::pow(10.0, digits - 1.0 - std::floor(std::log10(std::abs(number))));
  return shortest(std::round(number * scale) / scale) + " " + std::string(best->text);
}

#define STEPCAST_QUANTITY_TEXT(Q)                                 \
  template ParsedQuantity<Q> parse_quantity<Q>(std::string_view); \
  template Q quantity_of<Q>(double, std::string_view);            \
  template std::string_view quantity_example<Q>();                \
  template std::string format_quantity<Q>(Q);                     \
  template std::string rounded_quantity<Q>(Q, int)
STEPCAST_QUANTITY_TEXT(Bytes);
STEPCAST_QUANTITY_TEXT(Flops);
STEPCAST_QUANTITY_TEXT(Seconds);
STEPCAST_QUANTITY_TEXT(Joules);
STEPCAST_QUANTITY_TEXT(Hertz);
STEPCAST_QUANTITY_TEXT(BytesPerSecond);
STEPCAST_QUANTITY_TEXT(FlopsPerSecond);
STEPCAST_QUANTITY_TEXT(Watts);
#undef STEPCAST_QUANTITY_TEXT

std::string shortest_text(double value) { return shortest(value); }

std::string with_separators(long long value) { return grouped(std::to_string(value)); }

std::string significant(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) {
    return value == 0.0 ? "0" : "inf";
  }
  if (std::abs(value) >= kPlainBelow) {
    return scientific(value, digits);
  }
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = digits - 1 - magnitude;
  if (decimals <= 0) {
    return grouped(fixed_decimal(value, 0));
  }
  return fixed_decimal(value, decimals);
}

std::string whole_number(double value) {
  constexpr int kDigits = 4;
  const bool short_enough = std::abs(value) < kPlainBelow;
  return short_enough ? with_separators(std::llround(value)) : significant(value, kDigits);
}

std::string readable(Seconds value) {
  const double seconds = std::abs(value.value());
  if (seconds == 0.0) {
    return "0 s";
  }
  if (seconds < 1e-3) {
    return significant(value.value() * 1e6, 4) + " us";
  }
  if (seconds < 1.0) {
    return significant(value.value() * 1e3, 4) + " ms";
  }
  return significant(value.value(), 4) + " s";
}

std::string readable(Bytes value) {
  const double bytes = std::abs(value.value());
  if (bytes < kKi) {
    return significant(value.value(), 4) + " B";
  }
  if (bytes < kMi) {
    return significant(value.value() / kKi, 4) + " KiB";
  }
  if (bytes < kGibibyte) {
    return significant(value.value() / kMi, 4) + " MiB";
  }
  return significant(value.value() / kGibibyte, 4) + " GiB";
}

}  // namespace stepcast
