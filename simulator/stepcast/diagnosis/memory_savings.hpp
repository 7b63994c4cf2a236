// SPDX-License-Identifier: Apache-2.0
// What of a run's memory single settings would save, and what each would cost of its pace: two
// projections, with the setting and without.
//
//   micro-batches of half the sequences   selective and full recomputation
//   the next stage of ZeRO, resharding    the loss in 8 chunks
//   context parallelism twice as wide     the optimizer, parameters, activations on the host
//   expandable segments of the allocator
//
// Those that the experiment has already, that its readers refuse, that do not divide or that save
// less than 10 MiB are left out. Sets of them that make a plan fit are those of
// experiment/cheapest_savings.hpp.
#pragma once

#include <optional>

#include "stepcast/experiment/varied_run.hpp"
#include "stepcast/result/memory_diagnosis.hpp"

namespace stepcast {

// `tried`: how much the request that failed asked for. Where the plan does not divide the
// projection has the reasons, and there is nothing else.
MemoryDiagnosis diagnose_memory(const VariedRun& run, const Experiment& experiment,
                                std::optional<Bytes> tried);

}  // namespace stepcast
