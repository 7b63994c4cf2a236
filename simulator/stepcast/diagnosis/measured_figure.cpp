// SPDX-License-Identifier: Apache-2.0
#include "stepcast/diagnosis/measured_figure.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/error.hpp"
#include "stepcast/base/units_text.hpp"

namespace stepcast {
namespace {

constexpr double kTera = 1e12;
constexpr double kPercent = 100.0;

// How a metric is written where it has no quantity's unit.
struct WrittenUnit {
  Metric metric;
  std::string_view unit;
  double one;  // of the unit, in the unit of the metric
};
constexpr std::array kWritten = {
    WrittenUnit{Metric::kTokenRate, "tok/s", 1.0},
    WrittenUnit{Metric::kTokenRate, "tokens/s", 1.0},
    WrittenUnit{Metric::kTokenRate, "tok/s/GPU", 1.0},
    WrittenUnit{Metric::kTokenRate, "tokens/s/GPU", 1.0},
    WrittenUnit{Metric::kModelShare, "%", 1.0 / kPercent},
};

std::optional<Figure> in_range(Metric metric, double value) {
  const Range<double> range = range_of(info(metric).unit);
  const bool good = value > 0.0 && range.lowest <= value && value <= range.highest;
  return good ? std::optional(Figure{metric, value}) : std::nullopt;
}

// A number and what stands behind it, without blanks between.
struct NumberAndUnit {
  double number = 0.0;
  std::string_view unit;
};

std::optional<NumberAndUnit> split(std::string_view text) {
  NumberAndUnit parts;
  const char* end = text.data() + text.size();
  const std::from_chars_result read =
      std::from_chars(text.data(), end, parts.number, std::chars_format::fixed);
  if (read.ec != std::errc{}) {
    return std::nullopt;
  }
  parts.unit = text.substr(static_cast<std::size_t>(read.ptr - text.data()));
  parts.unit.remove_prefix(std::min(parts.unit.find_first_not_of(' '), parts.unit.size()));
  return parts;
}

std::optional<Figure> written_figure(const NumberAndUnit& parts) {
  for (const WrittenUnit& known : kWritten) {
    if (parts.unit == known.unit) {
      return in_range(known.metric, parts.number * known.one);
    }
  }
  return std::nullopt;
}

Bytes largest_reserved(const Projection& projection) {
  Bytes largest;
  for (const StageMemory& stage : projection.memory) {
    largest = max(largest, stage.reserved);
  }
  return largest;
}

}  // namespace

std::optional<Figure> parse_figure(std::string_view text) {
  if (const auto step = parse_quantity<Seconds>(text); step.value) {
    return in_range(Metric::kStepTime, step.value->value());
  }
  constexpr std::string_view kReserved = " reserved";
  const bool reserved = text.ends_with(kReserved);
  const std::string_view size = text.substr(0, text.size() - (reserved ? kReserved.size() : 0));
  if (const auto memory = parse_quantity<Bytes>(size); memory.value) {
    return in_range(reserved ? Metric::kPeakReservedMemory : Metric::kPeakMemory,
                    memory.value->value());
  }
  if (const auto rate = parse_quantity<FlopsPerSecond>(text); rate.value) {
    return in_range(Metric::kModelRate, rate.value->value() / kTera);
  }
  const std::optional<NumberAndUnit> parts = split(text);
  return parts ? written_figure(*parts) : std::nullopt;
}

std::optional<Figure> parse_figure(std::string_view text, Metric metric) {
  if (metric == Metric::kModelRate || metric == Metric::kModelShare) {
    const std::optional<NumberAndUnit> parts = split(text);
    if (parts && parts->unit.empty()) {
      return in_range(metric,
                      metric == Metric::kModelShare ? parts->number / kPercent : parts->number);
    }
  }
  const std::optional<Figure> figure = parse_figure(text);
  const bool is_it = figure && (figure->metric == metric ||
                                (metric == Metric::kPeakMemory && !is_of_pace(figure->metric)));
  return is_it ? figure : std::nullopt;
}

std::string_view figure_example(Metric metric) {
  switch (metric) {
    case Metric::kTokenRate:
      return "200tok/s";
    case Metric::kStepTime:
      return "13s";
    case Metric::kModelRate:
      return "120";
    case Metric::kModelShare:
      return "9.8";
    default:
      return "43.5GiB";
  }
}

Figure figure_of(Metric metric, const Projection& projection) {
  switch (metric) {
    case Metric::kTokenRate:
      return {metric, projection.tokens_per_second_per_gpu};
    case Metric::kStepTime:
      return {metric, projection.time.step.value()};
    case Metric::kModelRate:
      return {metric, projection.model_rate_per_gpu.value() / kTera};
    case Metric::kModelShare:
      return {metric, projection.mfu};
    case Metric::kPeakReservedMemory:
      return {metric, largest_reserved(projection).value()};
    default:
      STEPCAST_CHECK(metric == Metric::kPeakMemory, "no figure of a run");
      return {metric, projection.peak_memory().value()};
  }
}

std::string text_of(const Figure& figure) {
  switch (figure.metric) {
    case Metric::kTokenRate:
      return significant(figure.value, 4) + " tokens/s/GPU";
    case Metric::kStepTime:
      return readable(Seconds(figure.value));
    case Metric::kModelRate:
      return significant(figure.value, 4) + " TFLOP/s/GPU";
    case Metric::kModelShare:
      return decimals(kPercent * figure.value, 1) + " % MFU";
    case Metric::kPeakReservedMemory:
      return readable(Bytes(figure.value)) + " reserved";
    default:
      return readable(Bytes(figure.value));
  }
}

double log_excess(const Figure& measured, const Figure& projected) {
  const double ratio = std::log(measured.value / projected.value);
  const bool larger_is_slower =
      measured.metric == Metric::kStepTime || !is_of_pace(measured.metric);
  return larger_is_slower ? ratio : -ratio;
}

bool is_of_pace(Metric metric) {
  return metric != Metric::kPeakMemory && metric != Metric::kPeakReservedMemory;
}

}  // namespace stepcast
