// SPDX-License-Identifier: Apache-2.0
// What torchtitan calls values of keys, in both directions, and the keys that an experiment does
// not carry.
#pragma once

#include <array>
#include <string_view>

#include "frameworks/setting_reader.hpp"
#include "frameworks/words.hpp"

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
// moe_comm_backend of 2026, expert_parallel_comm_backend before.
inline constexpr std::array kTorchtitanBackends = {
    Word{"standard", "alltoall"},
    Word{"deepep", "deepep"},
    Word{"hybridep", "hybridep"},
    Word{"minimal_async_ep", "minimal_async_ep"},
};

// Muon of 2025, and since 2026 the one whose matrices travel to an owner and back.
inline constexpr std::array kTorchtitanOptimizers = {
    Word{"AdamW", "adamw"},         Word{"Adam", "adamw"},
    Word{"default_adamw", "adamw"}, Word{"SGD", "sgd"},
    Word{"Muon", "muon"},           Word{"DistMuon", "muon"},
    Word{"Adafactor", "adafactor"},
};

// Leaves out what changes the result and is not priced, and what changes nothing.
void leave_out_torchtitan_keys(FrameworkReader& settings);

}  // namespace stepcast
