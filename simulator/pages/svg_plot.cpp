// SPDX-License-Identifier: Apache-2.0
#include "pages/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/base/decimal_text.hpp"
#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

constexpr double kWidth = 760.0;
constexpr double kHeight = 460.0;
constexpr double kLeft = 84.0;
constexpr double kRight = 24.0;
constexpr double kTop = 48.0;
constexpr double kBottom = 56.0;
constexpr double kLetter = 7.3;  // of a text of 13 pixels, about
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

constexpr std::string_view kStyle =
    "<style>text{font:13px system-ui,sans-serif;fill:#1c2430}.t{font-size:16px;font-weight:600}"
    ".n{fill:#5b6675}.g{stroke:#dfe3e8}.p{fill:#3b6fd4;fill-opacity:.45}"
    ".f{fill:#c2410c}.l{fill:none;stroke:#c2410c;stroke-width:1.5}.b{fill:#3b6fd4}"
    ".w{stroke:#1c2430;stroke-width:1.5}.k{fill:#ffffff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.n{fill:#9aa5b4}.g{stroke:#333c49}"
    ".p{fill:#7aa2f7;fill-opacity:.5}.f{fill:#fb923c}.l{stroke:#fb923c}.b{fill:#5b85dd}"
    ".w{stroke:#e6e9ee}.k{fill:#14181f}}</style>";

std::string escaped(const std::string& text) {
  return text_list(text, "", [](char c) {
    return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  });
}

std::string point(double value) { return fixed_decimal(value, 1); }

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + point(value) + "\"";
}

struct Label {
  double x = 0.0;
  double y = 0.0;
  std::string_view anchor = "start";
  std::string_view style;
  std::string_view more;  // further attributes, with a space before them
};

std::string text_at(const Label& label, const std::string& text) {
  return "<text" + attribute("x", label.x) + attribute("y", label.y) + " text-anchor=\"" +
         std::string(label.anchor) + "\" class=\"" + std::string(label.style) + "\"" +
         std::string(label.more) + ">" + escaped(text) + "</text>\n";
}

// 1, 2 or 5 times a power of ten, about a fifth of `range`.
double tick_step(double range) {
  const double rough = range / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double share = rough / power;
  return power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

// Values from `least` to `greatest`, widened to whole ticks, on a line from `from` to `to`.
class Axis1D {
 public:
  Axis1D(double least, double greatest, double from, double to) : from_(from), to_(to) {
    const double range = greatest > least ? greatest - least : std::max(1.0, greatest);
    step_ = tick_step(range);
    least_ = std::floor(least / step_) * step_;
    greatest_ = std::ceil(std::max(greatest, least_ + step_) / step_) * step_;
  }
  [[nodiscard]] double at(double value) const {
    return from_ + (to_ - from_) * (value - least_) / (greatest_ - least_);
  }
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> list;
    const auto count = std::lround((greatest_ - least_) / step_);
    for (std::int64_t i = 0; i <= count; ++i) {
      list.push_back(least_ + static_cast<double>(i) * step_);
    }
    return list;
  }
  [[nodiscard]] std::string label(double tick) const {
    return fixed_decimal(tick, step_ < 1.0 ? static_cast<int>(std::ceil(-std::log10(step_))) : 0);
  }

 private:
  double from_;
  double to_;
  double least_ = 0.0;
  double greatest_ = 1.0;
  double step_ = 1.0;
};

// As much of a title as fits, cut between letters of UTF-8.
std::string cut(const std::string& title) {
  constexpr std::size_t kMost = 68;
  if (title.size() <= kMost) {
    return title;
  }
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(title[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return title.substr(0, end) + "...";
}

std::string opened(const std::string& title) {
  return R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )" + fixed_decimal(kWidth, 0) +
         " " + fixed_decimal(kHeight, 0) + "\" role=\"img\">\n<title>" + escaped(title) +
         "</title>\n" + std::string(kStyle) +
         "\n<rect width=\"100%\" height=\"100%\" class=\"k\"/>\n" +
         text_at({kLeft, 26.0, "start", "t", ""}, cut(title));
}

std::string rate_axis(const Axis1D& axis) {
  std::string text;
  for (const double tick : axis.ticks()) {
    const double y = axis.at(tick);
    text += "<line class=\"g\"" + attribute("x1", kLeft) + attribute("x2", kWidth - kRight) +
            attribute("y1", y) + attribute("y2", y) + "/>\n" +
            text_at({kLeft - 8.0, y + 4.0, "end", "n", ""}, axis.label(tick));
  }
  const std::string turned =
      " transform=\"rotate(-90 18 " + point((kTop + kHeight - kBottom) / 2.0) + ")\"";
  return text +
         text_at({18.0, (kTop + kHeight - kBottom) / 2.0, "middle", "", turned}, "tokens/s/GPU");
}

std::string circle(const Axis1D& x, const Axis1D& y, const PlanNumbers& plan,
                   std::string_view style, double radius) {
  return "<circle class=\"" + std::string(style) + "\"" +
         attribute("cx", x.at(plan.peak_memory.value() / kGiB)) +
         attribute("cy", y.at(plan.tokens_per_second_per_gpu)) + attribute("r", radius) + "/>\n";
}

// Factors of the rate; of 1 where nothing is known of the error.
RateInterval range_80(const Projection& p) {
  const bool known = p.expected_error && p.expected_error->distribution;
  return known ? p.expected_error->distribution->interval(Certainty::k80) : RateInterval{};
}

std::string whisker(const Axis1D& y, double x, const Projection& p) {
  const RateInterval range = range_80(p);
  return "<line class=\"w\"" + attribute("x1", x) + attribute("x2", x) +
         attribute("y1", y.at(p.tokens_per_second_per_gpu * range.low)) +
         attribute("y2", y.at(p.tokens_per_second_per_gpu * range.high)) + "/>\n";
}

// Bars beside each other, with a name below each and a value above. What would touch its neighbour
// is turned.
class BarPlot {
 public:
  explicit BarPlot(std::vector<std::string> names) : names_(std::move(names)) {
    for (const std::string& name : names_) {
      longest_ = std::max(longest_, name.size());
    }
  }

  [[nodiscard]] double middle(std::size_t i) const {
    return kLeft + slot() * (static_cast<double>(i) + 0.5);
  }
  [[nodiscard]] double width() const { return std::min(96.0, slot() * 0.6); }
  // Where bars stand: turned names take the height of the longest, up to a third of the picture.
  [[nodiscard]] double floor() const {
    const double names = turns(longest_) ? kSlope * kLetter * static_cast<double>(longest_) : 0.0;
    return kHeight - std::max(kBottom, std::min(kHeight / 3.0, names + 24.0));
  }
  [[nodiscard]] std::string name(std::size_t i) const {
    if (!turns(longest_)) {
      return text_at({middle(i), floor() + 20.0, "middle", "", ""}, names_[i]);
    }
    return turned(middle(i) + 4.0, floor() + 14.0, -35, "end", "", names_[i]);
  }
  // Above `y`.
  [[nodiscard]] std::string value(std::size_t i, double y, const std::string& text,
                                  std::string_view style) const {
    if (!turns(text.size())) {
      return text_at({middle(i), y - 6.0, "middle", style, ""}, text);
    }
    return turned(middle(i) + 4.0, y - 6.0, -90, "start", style, text);
  }

 private:
  static constexpr double kSlope = 0.58;  // sine of 35 degrees

  [[nodiscard]] double slot() const {
    return (kWidth - kLeft - kRight) / static_cast<double>(names_.size());
  }
  [[nodiscard]] bool turns(std::size_t letters) const {
    return kLetter * static_cast<double>(letters) > slot() - 4.0;
  }
  static std::string turned(double x, double y, int degrees, std::string_view anchor,
                            std::string_view style, const std::string& text) {
    const std::string turn =
        " transform=\"rotate(" + std::to_string(degrees) + " " + point(x) + " " + point(y) + ")\"";
    return text_at({x, y, anchor, style, turn}, text);
  }

  std::vector<std::string> names_;
  std::size_t longest_ = 0;
};

template <typename Of>
std::pair<double, double> range_of(const std::vector<PlanNumbers>& plans, const Of& of) {
  if (plans.empty()) {
    return {0.0, 1.0};
  }
  std::pair<double, double> range(of(plans.front()), of(plans.front()));
  for (const PlanNumbers& plan : plans) {
    range = {std::min(range.first, of(plan)), std::max(range.second, of(plan))};
  }
  return range;
}

}  // namespace

std::string plans_to_svg(const std::string& title, const std::vector<PlanNumbers>& plans,
                         const std::vector<PlanNumbers>& memory_front) {
  const auto [least, most] =
      range_of(plans, [](const PlanNumbers& plan) { return plan.peak_memory.value() / kGiB; });
  const auto [slowest, fastest] =
      range_of(plans, [](const PlanNumbers& plan) { return plan.tokens_per_second_per_gpu; });
  const Axis1D x(least, most, kLeft, kWidth - kRight);
  const Axis1D y(slowest, fastest, kHeight - kBottom, kTop);
  std::string text = opened(title) + rate_axis(y);
  for (const double tick : x.ticks()) {
    text += text_at({x.at(tick), kHeight - kBottom + 20.0, "middle", "n", ""}, x.label(tick));
  }
  text += text_at({(kLeft + kWidth - kRight) / 2.0, kHeight - 14.0, "middle", "", ""},
                  "peak memory of a GPU, GiB");
  for (const PlanNumbers& plan : plans) {
    text += circle(x, y, plan, "p", 3.0);
  }
  std::string line;
  for (const PlanNumbers& plan : memory_front) {
    line += (line.empty() ? "M" : "L") + point(x.at(plan.peak_memory.value() / kGiB)) + " " +
            point(y.at(plan.tokens_per_second_per_gpu));
    text += circle(x, y, plan, "f", 4.0);
  }
  return text + R"(<path class="l" d=")" + line + "\"/>\n</svg>\n";
}

std::string comparison_to_svg(const std::string& title,
                              const std::vector<ComparedColumn>& columns) {
  double highest = 0.0;
  for (const ComparedColumn& column : columns) {
    const Projection& p = column.projection;
    highest = std::max(highest, p.tokens_per_second_per_gpu * range_80(p).high);
  }
  const BarPlot plot(labels_apart(columns).own);
  const Axis1D y(0.0, highest, plot.floor(), kTop + kLetter * 2.0);
  std::string text = opened(title) + rate_axis(y);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Projection& p = columns[i].projection;
    const double middle = plot.middle(i);
    text += plot.name(i);
    if (!p.feasible()) {
      text += plot.value(i, plot.floor(), "cannot run", "n");
      continue;
    }
    const double top = y.at(p.tokens_per_second_per_gpu);
    text += "<rect class=\"b\"" + attribute("x", middle - plot.width() / 2.0) +
            attribute("y", top) + attribute("width", plot.width()) +
            attribute("height", plot.floor() - top) + "/>\n" + whisker(y, middle, p) +
            plot.value(i, y.at(p.tokens_per_second_per_gpu * range_80(p).high),
                       decimals(p.tokens_per_second_per_gpu, 1), "");
  }
  return text + "</svg>\n";
}

}  // namespace stepcast
