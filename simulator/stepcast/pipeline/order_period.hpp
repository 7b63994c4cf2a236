// SPDX-License-Identifier: Apache-2.0
// How the order of a pipeline rank repeats between filling and draining.
#pragma once

#include <cstdint>
#include <optional>

#include "stepcast/pipeline/pipeline_order.hpp"

namespace stepcast {

// `tasks` later the rank runs the same task of a micro-batch that is `micro_batches` later: for
// every position begin <= i < end, with i + tasks inside the order.
struct OrderPeriod {
  std::int64_t tasks = 0;
  std::int64_t micro_batches = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The periods that are tried for the orders of a pipeline, the shortest first: one to three tasks
// of each chunk that a rank runs, of one micro-batch or of as many as there are ranks.
struct PeriodCandidates {
  std::int64_t chunks = 1;
  std::int64_t ranks = 1;
};

// The shortest period of the middle half of an order, if it has one.
std::optional<OrderPeriod> order_period(const RankOrder& order, const PeriodCandidates& candidates);

// Whether `later` is `earlier` of a micro-batch that is `micro_batches` later.
bool follows(const PipelineTask& earlier, const PipelineTask& later, std::int64_t micro_batches);

}  // namespace stepcast
