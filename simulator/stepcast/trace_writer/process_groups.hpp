// SPDX-License-Identifier: Apache-2.0
// The process groups of one rank: "0" is all ranks; the others are called after their axis, their
// size and stride and their first rank, so that two groups of a job never share a name and all
// ranks of a group call it alike.
#pragma once

#include <string>
#include <vector>

#include "stepcast/model/op.hpp"

namespace stepcast {

struct NamedGroup {
  std::string name;         // "tp_4x1_8"
  std::string description;  // "dp, 8 ranks"
  ProcessGroup group;
  Axis axis = Axis::kData;
  std::vector<std::int64_t> ranks;
  std::size_t index = 0;  // among the groups of the rank
};

class ProcessGroups {
 public:
  ProcessGroups(std::int64_t world, std::int64_t rank);

  const NamedGroup& group(const ProcessGroup& group, Axis axis);
  [[nodiscard]] const std::vector<NamedGroup>& all() const { return groups_; }

 private:
  std::int64_t rank_;
  std::vector<NamedGroup> groups_;
};

// The ranks of the group of its kind that `rank` is in.
std::vector<std::int64_t> ranks_of(const ProcessGroup& group, std::int64_t rank);

}  // namespace stepcast
