// SPDX-License-Identifier: Apache-2.0
// The axes of a sweep file as written: which keys vary, and over which texts. What the texts mean
// is read later, where experiments are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepcast/config/config_node.hpp"

namespace stepcast {

inline constexpr std::size_t kLongestAxis = 10'000;  // values

// One key, and what an axis' value sets it to.
struct AxisSetting {
  std::string key;  // "plan.tp"
  ConfigNode value;
  int line = 0;  // of the key
  int column = 0;
};
using AxisValue = std::vector<AxisSetting>;

struct WrittenAxis {
  std::vector<std::string> keys;
  std::vector<AxisValue> values;  // each sets some of the keys
  ConfigNode place;               // where it was written
};

// A sweep file taken apart.
struct WrittenSweep {
  ConfigNode base;  // an experiment without the keys that vary
  std::vector<WrittenAxis> axes;
};

// Takes the axes out of `root`. Problems go to `diagnostics`.
WrittenSweep take_axes(ConfigNode root, Diagnostics& diagnostics);

// Joins the axes over recomputation, if there are any, so that each kind meets only the keys that
// belong to it: none has no layers to choose.
void join_recomputation(WrittenSweep& sweep);

// The place of an axis over this key ("plan.tp") among the others; the least is outermost. Keys of
// the site come before all others.
int numbering_order(std::string_view dotted_key);
void sort_axes(std::vector<WrittenAxis>& axes);

// Sets keys of a tree, making mappings on the way.
void set_values(ConfigNode& root, const AxisValue& value);

// A value as it would be written in one line: "{base: megatron, cuda_graph: true}".
std::string flow_text(const ConfigNode& node);

}  // namespace stepcast
