// SPDX-License-Identifier: Apache-2.0
// What sources call models, GPUs and frameworks, as the names of our profiles. Nothing is taken for
// its nearest relative: a name that is not known gives an empty text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

// A shipped model.
std::string model_for(std::string_view published);

// A part: one of `profiles` by its own name, else by how makers and sources write it. A remark in
// parentheses counts only where the name before it names no part.
std::string gpu_for(std::string_view published, const std::vector<std::string>& profiles);

// A pipeline schedule as a plan has it.
std::string schedule_for(std::string_view published);

// Of the frameworks whose runs need more than a name to find their set.
enum class FrameworkFamily {
  kOther,
  kTorchtitan,
  kPrimus,
  kNemo,
  kMegatronBridge,
  kMaxtext,
  kMlperf
};

struct SoftwareName {
  std::string software;  // a shipped set; empty: none describes the framework
  FrameworkFamily family = FrameworkFamily::kOther;
  std::string assumed;  // why that set, where it is not the framework's own
};
SoftwareName software_for(std::string_view framework);

}  // namespace stepcast
