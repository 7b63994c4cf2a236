// SPDX-License-Identifier: Apache-2.0
// What a sweep and a merge answer: the report, and every priced plan as a line. Chunks are
// streamed, so that the plans of a sweep need not fit in memory.
#pragma once

#include <optional>

#include "stepcast/answers.hpp"
#include "stepcast/inputs.hpp"
#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"
#include "stepcast/sweep/sweep_space.hpp"

namespace stepcast {

// How many of the best plans, beside the Pareto sets, are all that the report has; nothing where it
// needs every plan.
std::optional<std::size_t> best_of_report(const SweepReportSettings& settings);

// Whether any plan can run, or that a stop was asked for. `source` is what `space` was read from.
SweepReport write_sweep(const SweepSource& source, const SweepSpace& space,
                        const ChunkReader& chunks, const ChunkGrid& grid,
                        const SweepReportSettings& settings, const DataRoot& data,
                        const SweepRunning& running);

}  // namespace stepcast
