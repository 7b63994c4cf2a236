// SPDX-License-Identifier: Apache-2.0
// What a job of torchtitan runs: the software set of its time, compiled or not, and what its file
// says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "frameworks/setting_reader.hpp"
#include "frameworks/torchtitan.hpp"
#include "stepcast/config/config_node.hpp"

namespace stepcast {

// Since when parameters are sharded also over one rank, which casts them to 16 bits (00b7f5693).
inline constexpr std::string_view kTorchtitanShardsAlways = "2026-04-09";

// What of the job its switches depend on.
struct TorchtitanParts {
  std::int64_t pp = 1;
  std::string_view attention;  // the kernel that the flavor names, in torchtitan's words
};

struct TorchtitanSoftware {
  std::string set;
  ConfigNode changes;  // may be empty
};

TorchtitanSoftware read_torchtitan_software(FrameworkReader& settings, const TorchtitanJob& job,
                                            const TorchtitanParts& parts);

}  // namespace stepcast
