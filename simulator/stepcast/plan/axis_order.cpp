// SPDX-License-Identifier: Apache-2.0
#include "stepcast/plan/axis_order.hpp"

#include <algorithm>

#include "stepcast/base/text_list.hpp"

namespace stepcast {
namespace {

constexpr char kBetween = '-';

// The axis that `text` begins with, which is taken off it with what follows it up to the next one.
std::optional<Axis> take_axis(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(kBetween));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (name(static_cast<Axis>(i)) == word) {
      return static_cast<Axis>(i);
    }
  }
  return std::nullopt;
}

// Goes along an order and multiplies the degrees of the axes that it passes.
class StrideCounter {
 public:
  void pass(std::int64_t& stride, std::int64_t degree) {
    stride = ranks_;
    ranks_ *= degree;
  }

 private:
  std::int64_t ranks_ = 1;
};

}  // namespace

std::optional<AxisOrder> parse_axis_order(std::string_view text) {
  AxisOrder order;
  if (text.empty() || text.back() == kBetween) {
    return std::nullopt;
  }
  for (auto* place = order.axes.begin(); place != order.axes.end(); ++place) {
    const std::optional<Axis> axis = take_axis(text);
    if (!axis || std::find(order.axes.begin(), place, *axis) != place) {
      return std::nullopt;
    }
    *place = *axis;
  }
  return text.empty() ? std::optional(order) : std::nullopt;
}

std::string text_of(const AxisOrder& order) {
  return text_list(order.axes, std::string_view(&kBetween, 1), name<Axis>);
}

RankStrides rank_strides(const AxisOrder& order, const RankDegrees& degrees) {
  RankStrides strides;
  StrideCounter rest;
  StrideCounter experts;
  for (const Axis axis : order.axes) {
    switch (axis) {
      case Axis::kTensor:
        rest.pass(strides.tp, degrees.tp);
        experts.pass(strides.etp, degrees.etp);
        break;
      case Axis::kContext:
        rest.pass(strides.cp, degrees.cp);
        break;
      case Axis::kExpert:
        experts.pass(strides.ep, degrees.ep);
        break;
      case Axis::kData:
        rest.pass(strides.dp, degrees.dp);
        experts.pass(strides.edp, degrees.edp);
        break;
      case Axis::kPipeline:
        rest.pass(strides.pp, degrees.pp);
        experts.pass(strides.expert_pp, degrees.pp);
        break;
    }
  }
  return strides;
}

}  // namespace stepcast
