// SPDX-License-Identifier: Apache-2.0
// The keys of a torchtitan job that say how products, experts and communication run, and those that
// an experiment does not carry.
#pragma once

#include <string_view>

#include "frameworks/imported_experiment.hpp"
#include "frameworks/setting_reader.hpp"

namespace stepcast {

struct TorchtitanStep {
  bool recipe = false;  // a Python function of 2026
  std::int64_t pp = 1;
  bool has_experts = false;
};
// The format of products: converters to FP8, MXFP8 or NVFP4.
std::string_view read_torchtitan_dtype(FrameworkReader& settings, const TorchtitanStep& step);

// The software set, the switches beside it, and the routing of experts.
void read_torchtitan_software(FrameworkReader& settings, const TorchtitanStep& step,
                              FrameworkExperiment& parts);
// What changes the result and is not priced, and what changes nothing.
void leave_out_torchtitan_keys(FrameworkReader& settings);

}  // namespace stepcast
