// SPDX-License-Identifier: Apache-2.0
// The key `overlap` of a plan: "timeline", "uniform", or a mapping with a rule and the share of
// each axis' communication that runs behind computation. For the table of keys (plan_keys.cpp)
// alone.
#pragma once

#include <array>
#include <string_view>

#include "stepcast/config/config_writer.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/plan/parallel_plan.hpp"

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

}  // namespace stepcast
