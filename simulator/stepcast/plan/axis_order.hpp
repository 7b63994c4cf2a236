// SPDX-License-Identifier: Apache-2.0
// In which order the ranks of a job are numbered, and so which of them are neighbours.
//
// As the `order` of Megatron's RankGenerator (megatron/core/parallel_state.py): the axes from the
// one that varies fastest with a rank's number to the slowest, "tp-cp-ep-dp-pp" unless something
// else is said; --use-tp-pp-dp-mapping is "tp-cp-ep-pp-dp". Ranks are numbered twice. What is
// outside the experts sees
//   the order without ep,    degrees tp, cp, dp, pp
// and what the experts run
//   the order without cp,    degrees etp, ep, edp, pp in the places of tp, ep, dp, pp
// On either side a rank's neighbour on an axis is as many ranks away as the degrees before that
// axis multiply to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/model/op.hpp"

namespace stepcast {

struct AxisOrder {
  std::array<Axis, kAxes> axes = {Axis::kTensor, Axis::kContext, Axis::kExpert, Axis::kData,
                                  Axis::kPipeline};
  bool operator==(const AxisOrder&) const = default;
};

// Megatron's --use-tp-pp-dp-mapping.
inline constexpr std::string_view kPipelinesWithinReplicas = "tp-cp-ep-pp-dp";

// The order of a text like "tp-cp-ep-dp-pp"; nothing unless it names each axis once.
std::optional<AxisOrder> parse_axis_order(std::string_view text);
std::string text_of(const AxisOrder& order);

// How many ranks neighbours on an axis are apart.
struct RankStrides {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t dp = 1;
  std::int64_t pp = 1;
  std::int64_t etp = 1;
  std::int64_t ep = 1;
  std::int64_t edp = 1;
  std::int64_t expert_pp = 1;  // the experts' pipeline, which must be that of the rest
  bool operator==(const RankStrides&) const = default;
};

struct RankDegrees {
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t dp = 1;
  std::int64_t pp = 1;
  std::int64_t etp = 1;
  std::int64_t ep = 1;
  std::int64_t edp = 1;
};

RankStrides rank_strides(const AxisOrder& order, const RankDegrees& degrees);

}  // namespace stepcast
