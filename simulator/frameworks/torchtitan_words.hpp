// SPDX-License-Identifier: Apache-2.0
// What torchtitan calls values of keys, in both directions: its schedules, and the table of the
// rest.
#pragma once

#include <array>
#include <string_view>

#include "frameworks/framework_words.hpp"

namespace stepcast {

struct TorchtitanSchedule {
  std::string_view theirs;
  std::string_view ours;
  bool several_stages = false;  // more than one a rank
};

// torch.distributed.pipelining.schedules; a name of ours that is not here has no such schedule.
inline constexpr std::array kTorchtitanSchedules = {
    TorchtitanSchedule{"1F1B", "1f1b"},
    TorchtitanSchedule{"GPipe", "gpipe"},
    TorchtitanSchedule{"Interleaved1F1B", "interleaved_1f1b", true},
    TorchtitanSchedule{"InterleavedZeroBubble", "interleaved_zero_bubble", true},
    TorchtitanSchedule{"ZBVZeroBubble", "zbv", true},
    TorchtitanSchedule{"DualPipeV", "dualpipev", true},
};

// The words of configs/frameworks/torchtitan.yaml.
FrameworkWords torchtitan_words(const DataRoot& data);

}  // namespace stepcast
