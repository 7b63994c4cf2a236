// SPDX-License-Identifier: Apache-2.0
// The values of a plan's keys that are no number, switch or choice: the order of ranks, the layers
// of stages, and the overlap, which is "timeline", "uniform", or a mapping with a rule and the
// share of each axis' communication that runs behind computation. For the table of keys
// (plan_keys.cpp) alone.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/parallel_plan.hpp"
#include "stepcast/plan/stage_layout.hpp"

namespace stepcast {

inline constexpr std::array<NamedValue<bool>, 2> kOverlapRules = {
    {{"timeline", false}, {"uniform", true}}};

inline constexpr std::array kAxesOfShares = {Axis::kTensor, Axis::kExpert, Axis::kContext,
                                             Axis::kData, Axis::kPipeline};

inline void read_overlap(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  if (value == nullptr) {
    return;
  }
  if (value->kind == ConfigNode::Kind::kScalar) {
    plan.uniform = reader.choice<bool>(key, *value, kOverlapRules).value_or(false);
    return;
  }
  MappingReader fractions(*value, reader.path_of(key), reader.diagnostics());
  plan.uniform = fractions.optional_choice<bool>("rule", kOverlapRules, true);
  for (const Axis axis : kAxesOfShares) {
    double& share = plan.overlap.hidden[static_cast<std::size_t>(axis)];
    share = fractions.optional_number(name(axis), share, kFraction);
  }
  fractions.finish();
}

inline ConfigNode overlap_node(const UniformOverlap& overlap) {
  ConfigWriter shares;
  shares.field("rule", "uniform");
  for (const Axis axis : kAxesOfShares) {
    shares.field(name(axis), overlap.hidden[static_cast<std::size_t>(axis)]);
  }
  return shares.take();
}

inline void write_overlap(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.uniform) {
    writer.field(key, overlap_node(plan.overlap));
  }
}

inline void copy_overlap(const PlanRequest& from, PlanRequest& to) {
  to.uniform = from.uniform;
  to.overlap = from.overlap;
}

inline void read_order(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  const std::optional<std::string> text =
      value == nullptr ? std::nullopt : reader.text(key, *value);
  if (!text) {
    return;
  }
  if (const std::optional<AxisOrder> order = parse_axis_order(*text)) {
    plan.order = *order;
  } else {
    reader.error(key,
                 "must name tp, cp, ep, dp and pp once each, from the axis whose ranks are "
                 "neighbours to the one whose ranks are furthest apart, as " +
                     text_of(AxisOrder{}));
  }
}

inline void write_order(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (plan.order != AxisOrder{}) {
    writer.field(key, text_of(plan.order));
  }
}

inline void read_layout(std::string_view key, MappingReader& reader, PlanRequest& plan) {
  const ConfigNode* value = reader.take(key);
  if (value == nullptr) {
    return;
  }
  if (value->kind != ConfigNode::Kind::kSequence) {
    plan.layout = reader.name(key, *value).value_or("");
    for (const std::string& fault : layout_faults(plan.layout)) {
      reader.error(key, fault);
    }
    return;
  }
  for (const ConfigNode& item : value->items) {
    if (const auto layers = reader.count(key, item, {0, 10'000})) {
      plan.stage_layers.push_back(*layers);
    }
  }
}

inline void write_layout(std::string_view key, const PlanRequest& plan, ConfigWriter& writer) {
  if (!plan.stage_layers.empty()) {
    writer.field(key, list_node(plan.stage_layers));
  } else if (!plan.layout.empty()) {
    writer.field(key, plan.layout);
  }
}

inline void copy_layout(const PlanRequest& from, PlanRequest& to) {
  to.layout = from.layout;
  to.stage_layers = from.stage_layers;
}

}  // namespace stepcast
