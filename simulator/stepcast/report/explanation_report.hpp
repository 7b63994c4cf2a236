// SPDX-License-Identifier: Apache-2.0
// Why a step takes as long as it does, beside its operators: what limits it, the chain of tasks
// that determines it, and what more of each resource would buy.
//
//   bound by                  matrix and vector units 61.2 %, HBM 20.1 %, pipeline bubble 9.8 %
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stepcast/result/explanation.hpp"

namespace stepcast {

// From the peak to the MFU, loss by loss; empty where the MFU is not known.
std::string waterfall_to_text(const Explanation& explanation);
nlohmann::ordered_json waterfall_to_json(const std::vector<WaterfallStep>& steps);

// What the settings moved by a step give, at most `kAdviceShown` of them in the text.
inline constexpr std::size_t kAdviceShown = 12;
std::string advice_to_text(const std::vector<AdvisedChange>& advice);
nlohmann::ordered_json advice_to_json(const std::vector<AdvisedChange>& advice);

std::string limits_text(const std::vector<LimitedTime>& limits);
nlohmann::ordered_json limits_to_json(const std::vector<LimitedTime>& limits);

// As a table in which runs that repeat (one forward, one backward) are one line.
std::string path_to_text(const std::vector<PathSegment>& path);
// Every run of segments, in order.
nlohmann::ordered_json path_to_json(const std::vector<PathSegment>& path);

std::string sensitivities_to_text(const std::vector<Sensitivity>& sensitivities);
nlohmann::ordered_json sensitivities_to_json(const std::vector<Sensitivity>& sensitivities);

}  // namespace stepcast
