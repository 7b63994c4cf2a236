// SPDX-License-Identifier: Apache-2.0
// Prices the pieces of a sweep that a folder lets this process have, one a thread at a time, until
// there is none. The chunks of a piece are priced in their order by one thread, so that its part
// has the same bytes whoever prices it.
#pragma once

#include <functional>
#include <stop_token>

#include "stepcast/sweep/piece_folder.hpp"
#include "stepcast/sweep/sweep_run.hpp"

namespace stepcast {

struct PieceRun {
  int threads = 1;
  MakeEvaluator evaluator;
  // With each piece that is begun, by one thread at a time: `done` are as many plans as the parts
  // of all tasks have, pieces being alike; `before` those of the first look.
  std::function<void(const SweepProgress&)> progress = [](const SweepProgress&) {};
};

// How many pieces were finished; `stop` gives back those that are begun, and so does what a thread
// throws, which is thrown again.
std::int64_t run_pieces(const PieceRun& run, PieceFolder& folder, const std::stop_token& stop);

}  // namespace stepcast
