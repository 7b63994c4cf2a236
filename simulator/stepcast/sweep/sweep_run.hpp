// SPDX-License-Identifier: Apache-2.0
// Runs the chunks of a sweep on several threads: those of a shard that a store does not have yet,
// or pieces that a folder lets this process have, one a thread at a time, until there is none. What
// a chunk gives follows from its number alone, so the number of threads, and where an earlier run
// stopped, change nothing but the order in which a store keeps chunks. The chunks of a piece are
// priced in their order by one thread, so that its part has the same bytes whoever prices it.
#pragma once

#include <functional>
#include <stop_token>

#include "stepcast/sweep/chunk_store.hpp"
#include "stepcast/sweep/piece_folder.hpp"
#include "stepcast/sweep/sweep_chunks.hpp"

namespace stepcast {

// Evaluates the plans [begin, end) of a sweep; used by one thread.
using EvaluateChunk = std::function<ChunkResult(std::int64_t begin, std::int64_t end)>;
// Called once by every thread that takes part.
using MakeEvaluator = std::function<EvaluateChunk()>;

// What became of every plan of a chunk. Throws InternalError if `evaluate` loses one.
ChunkResult evaluated(const EvaluateChunk& evaluate, const ChunkGrid& grid, std::int64_t chunk);

struct SweepProgress {
  std::int64_t plans = 0;   // of the shard
  std::int64_t done = 0;    // kept, by this run and by those before
  std::int64_t before = 0;  // of these, by runs before
  std::int64_t priced = 0;  // by this run
};

struct SweepRun {
  ChunkGrid grid;
  Shard shard;
  int threads = 1;
  MakeEvaluator evaluator;
  // After every chunk, by one thread at a time.
  std::function<void(const SweepProgress&)> progress = [](const SweepProgress&) {};
};

// Whether the store has every chunk of the shard now; if not, the stop was asked for. What a thread
// throws ends the run and is thrown again.
bool run_sweep(const SweepRun& run, ChunkStore& store, const std::stop_token& stop);

// The processors that this process may use.
int processors();

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
