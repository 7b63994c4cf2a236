// SPDX-License-Identifier: Apache-2.0
#include "stepcast/trace_writer/process_groups.hpp"

#include <algorithm>

namespace stepcast {

std::vector<std::int64_t> ranks_of(const ProcessGroup& group, std::int64_t rank) {
  const std::int64_t in_run = rank / group.stride % group.run_size();
  const std::int64_t run = group.run > 0 ? rank / group.jump % group.runs() : 0;
  const std::int64_t first = rank - in_run * group.stride - run * group.jump;
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < group.size; ++i) {
    ranks.push_back(first + i % group.run_size() * group.stride +
                    i / group.run_size() * group.jump);
  }
  return ranks;
}

ProcessGroups::ProcessGroups(std::int64_t world, std::int64_t rank) : rank_(rank) {
  const ProcessGroup all{world, 1};
  groups_.push_back({"0", "default_pg", all, Axis::kData, ranks_of(all, rank), 0});
}

const NamedGroup& ProcessGroups::group(const ProcessGroup& group, Axis axis) {
  const auto known = std::find_if(groups_.begin() + 1, groups_.end(), [&](const NamedGroup& entry) {
    return entry.group == group && entry.axis == axis;
  });
  if (known != groups_.end()) {
    return *known;
  }
  std::vector<std::int64_t> ranks = ranks_of(group, rank_);
  const std::string kind(name(axis));
  const std::string title =
      kind + "_" + std::to_string(group.size) + "x" + std::to_string(group.stride) +
      (group.run > 0 ? "_" + std::to_string(group.run) + "x" + std::to_string(group.jump) : "") +
      "_" + std::to_string(ranks.front());
  groups_.push_back({title, kind + ", " + std::to_string(group.size) + " ranks", group, axis,
                     std::move(ranks), groups_.size()});
  return groups_.back();
}

}  // namespace stepcast
