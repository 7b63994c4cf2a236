// SPDX-License-Identifier: Apache-2.0
// What several measured runs say at a time, as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/timed_runs.hpp"

namespace stepcast {

// Of runs of the same work, and of those on one state of the network.
std::string regret_to_text(const std::vector<TimedRun>& runs);
nlohmann::ordered_json regret_to_json(const std::vector<TimedRun>& runs);

// The same work on two GPUs.
std::string sku_pairs_to_text(const std::vector<SkuPair>& pairs);
nlohmann::ordered_json sku_pairs_to_json(const std::vector<SkuPair>& pairs);

}  // namespace stepcast
