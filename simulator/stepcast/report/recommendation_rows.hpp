// SPDX-License-Identifier: Apache-2.0
// What the texts and tables of a recommendation share.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/result/recommendation.hpp"

namespace stepcast {

// One of the answers for a GPU.
struct AnswerKind {
  std::string_view key;
  std::optional<std::size_t> RecommendedGpu::*place;
};
inline constexpr std::array kAnswerKinds = {
    AnswerKind{"fewest", &RecommendedGpu::fewest},
    AnswerKind{"cheapest", &RecommendedGpu::cheapest},
    AnswerKind{"fastest", &RecommendedGpu::fastest},
};

// "512 h100_sxm: 41.0 days, 3,400,000 $; 1.23 times cheaper than mi300x". Of all GPUs the cheapest;
// "nothing stays within the limits" where that is so.
std::string recommendation_headline(const std::vector<RecommendedGpu>& gpus,
                                    const RunLimits& limits);

}  // namespace stepcast
