// SPDX-License-Identifier: Apache-2.0
#include "stepcast/validation/accuracy_groups.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "stepcast/base/quantile.hpp"
#include "stepcast/base/real.hpp"
#include "stepcast/config/enum_fields.hpp"
#include "stepcast/config/json_node.hpp"
#include "stepcast/config/mapping_reader.hpp"
#include "stepcast/validation/error_summary.hpp"

namespace stepcast {
namespace {

std::string name_of(const RunTraits& traits, AccuracyAxis axis) {
  switch (axis) {
    case AccuracyAxis::kAll:
      return "all runs";
    case AccuracyAxis::kStack:
      return std::string(name(traits.stack));
    case AccuracyAxis::kSource:
      return traits.source;
    case AccuracyAxis::kGpu:
      return traits.gpu;
    case AccuracyAxis::kFamily:
      return std::string(name(traits.family));
    case AccuracyAxis::kSoftware:
      return traits.software;
    case AccuracyAxis::kDtype:
      return std::string(name(traits.dtype));
  }
  return {};
}

// Shares of the runs inside the stated intervals, if any has one.
void add_coverage(const std::vector<const ValidationRow*>& runs, AccuracyGroup& group) {
  double stated = 0.0;
  double inside_80 = 0.0;
  double inside_90 = 0.0;
  for (const ValidationRow* run : runs) {
    if (!run->expected_error || !run->expected_error->distribution) {
      continue;
    }
    const ErrorDistribution& error = *run->expected_error->distribution;
    stated += 1.0;
    inside_80 += error.interval(Certainty::k80).holds(run->rate_factor()) ? 1.0 : 0.0;
    inside_90 += error.interval(Certainty::k90).holds(run->rate_factor()) ? 1.0 : 0.0;
  }
  if (stated > 0.0) {
    group.inside_80 = inside_80 / stated;
    group.inside_90 = inside_90 / stated;
  }
}

AccuracyGroup group_of(AccuracyAxis axis, std::string name,
                       const std::vector<const ValidationRow*>& runs) {
  AccuracyGroup group{.axis = axis, .name = std::move(name), .runs = runs.size()};
  std::set<std::string> sources;
  std::vector<double> errors;
  for (const ValidationRow* run : runs) {
    const double error = 1.0 / run->rate_factor() - 1.0;
    sources.insert(run->traits->source);
    errors.push_back(std::abs(error));
    group.bias += error / real(static_cast<std::int64_t>(runs.size()));
  }
  group.sources = sources.size();
  group.median_abs_error = median(errors);
  add_coverage(runs, group);
  return group;
}

using GroupKey = std::pair<std::string, std::string>;
GroupKey key_of(const AccuracyGroup& group) { return {std::string(name(group.axis)), group.name}; }

std::map<GroupKey, double> medians_in(const std::string& report, const std::string& file) {
  Diagnostics diagnostics;
  const std::optional<ConfigNode> root = parse_json_object(report, {file}, diagnostics);
  diagnostics.throw_if_any();
  const ConfigNode* const groups = root->find("groups");
  if (groups == nullptr || groups->kind != ConfigNode::Kind::kSequence) {
    throw ConfigError({file, 0, 0},
                      "has no 'groups'; give what 'stepcast validate --format json' wrote");
  }
  std::map<GroupKey, double> medians;
  for (const ConfigNode& item : groups->items) {
    MappingReader reader(item, "groups", diagnostics);
    GroupKey key = {reader.required_text("axis"), reader.required_text("name")};
    const auto median = reader.required_number("median_abs_error", {0.0, 1e9});
    medians.emplace(std::move(key), median);
  }
  diagnostics.throw_if_any();
  return medians;
}

}  // namespace

std::vector<AccuracyGroup> accuracy_groups(const std::vector<ValidationRow>& rows) {
  const std::vector<const ValidationRow*> runs = timed_once(rows);
  std::vector<AccuracyGroup> groups;
  for (std::size_t i = 0; i < kNamesOf<AccuracyAxis>.size(); ++i) {
    const auto axis = static_cast<AccuracyAxis>(i);
    std::map<std::string, std::vector<const ValidationRow*>> alike;
    for (const ValidationRow* run : runs) {
      alike[name_of(*run->traits, axis)].push_back(run);
    }
    std::ranges::transform(alike, std::back_inserter(groups), [axis](const auto& group) {
      return group_of(axis, group.first, group.second);
    });
  }
  return groups;
}

void compare_groups(const std::string& earlier, const std::string& file,
                    std::vector<AccuracyGroup>& groups) {
  const std::map<GroupKey, double> medians = medians_in(earlier, file);
  for (AccuracyGroup& group : groups) {
    const auto found = medians.find(key_of(group));
    if (found != medians.end()) {
      group.median_before = found->second;
    }
  }
}

std::vector<AccuracyGroup> worse_groups(const std::vector<AccuracyGroup>& groups) {
  std::vector<AccuracyGroup> worse;
  std::ranges::copy_if(groups, std::back_inserter(worse), [](const AccuracyGroup& group) {
    return group.median_before && group.runs >= kFewestOfGroup &&
           group.median_abs_error - *group.median_before >= kWorse;
  });
  return worse;
}

}  // namespace stepcast
